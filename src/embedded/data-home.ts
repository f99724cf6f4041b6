import { randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedPostgresError, indent } from './embedded-postgres-error.ts'
import { type Account, runProgram } from './run-program.ts'

const locationFile = 'location.txt'
const ownerFile = 'belongs-to.txt'

/**
 * The folder that holds the data, the log, the port and the password of a cluster: `folder` itself, or, where
 * `account` cannot reach it (a clone in root's home, say), a folder of its own in a shared place. `location.txt`
 * in `folder` then names it, and `onNotice` says so.
 *
 * @throws {EmbeddedPostgresError} when no place can be reached.
 */
export async function dataHome(
  folder: string,
  account: Account | undefined,
  onNotice: (sentence: string) => void,
): Promise<string> {
  const elsewhere = await locationOf(folder)
  if (elsewhere !== undefined) return elsewhere
  if (account === undefined || (await canEnter(folder, account))) return folder
  const refusals: string[] = []
  for (const place of sharedPlaces) {
    try {
      const home = await settleIn(place, folder, account)
      onNotice(`The database lies in ${home}, because ${account.name}, who runs the server, cannot enter ${folder}.`)
      return home
    } catch (error) {
      refusals.push((error as Error).message)
    }
  }
  throw new EmbeddedPostgresError(
    `${account.name}, who runs the server, cannot enter ${folder}, and there is no other place for the database. Open the folders above it (chmod o+x), move the project, or set DATABASE_URL.${indent(refusals.join('\n'))}`,
  )
}

/**
 * The place that `location.txt` names, if it still exists and belongs to this folder. A copy of the folder must not
 * share the original's data: their locks know nothing of each other.
 *
 * @throws {EmbeddedPostgresError} when the place belongs to another folder that still uses it.
 */
export async function locationOf(folder: string): Promise<string | undefined> {
  const named = await firstLine(join(folder, locationFile))
  if (named === undefined) return undefined
  const owner = await firstLine(join(named, ownerFile))
  if (owner === undefined) return undefined
  if (owner === folder) return named
  if ((await firstLine(join(owner, locationFile))) === named) {
    throw new EmbeddedPostgresError(
      `${join(folder, locationFile)} names ${named}, which holds the database of ${owner}. Delete ${folder} to begin with an empty database here.`,
    )
  }
  await writeFile(join(named, ownerFile), `${folder}\n`)
  return named
}

async function firstLine(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text?.split('\n', 1)[0]
}

/** Makes a folder for the cluster in a shared place, known to both sides or not there at all. */
async function settleIn(place: string, folder: string, account: Account): Promise<string> {
  const home = join(await openSharedPlace(place), `cluster-${randomBytes(6).toString('hex')}`)
  await mkdir(home)
  try {
    await chmod(home, 0o755)
    if (!(await canEnter(home, account))) throw new Error(`${home} is closed to ${account.name}`)
    await writeFile(join(home, ownerFile), `${folder}\n`)
    await writeFile(
      join(folder, locationFile),
      `${home}\n\nThe database of this folder lies there, because ${account.name}, who runs the server, cannot enter this one.\nDelete both to begin with an empty database.\n`,
    )
    return home
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/** Asked of the system, not read from modes: access lists and security modules have a say too. */
async function canEnter(folder: string, account: Account): Promise<boolean> {
  const { status } = await runProgram('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], account)
  return status === 0
}

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
