import { chmod, lstat, mkdir, realpath } from 'node:fs/promises'

/** Where root keeps what another user must reach, best first. */
export const sharedPlaces = ['/var/lib/nightferry', '/var/tmp/nightferry']

/**
 * Makes a shared place unless it exists, and returns it without symbolic links.
 * @throws when others may write there: they could put programs or data of their own into it.
 */
export async function openSharedPlace(place: string): Promise<string> {
  const made = await mkdir(place, { recursive: true })
  if (made !== undefined) await chmod(place, 0o755)
  const real = await realpath(place)
  const found = await lstat(real)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error(`${place} is not a folder that only root may write`)
  }
  return real
}
