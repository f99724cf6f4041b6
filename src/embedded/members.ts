import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive, ownIdentity } from './process-identity.ts'

let joined = 0

/** Enters this process in the list of those who use the cluster. Call under the folder's lock. Returns the entry. */
export async function enterMember(folder: string): Promise<string> {
  joined += 1
  const entry = `${ownIdentity()}.${joined}`
  await mkdir(join(folder, 'members'), { recursive: true })
  await writeFile(join(folder, 'members', entry), '')
  return entry
}

/**
 * Takes an entry off the list, and those of processes that died without doing so. Call under the folder's lock.
 * @returns how many entries are left.
 */
export async function leaveMember(folder: string, entry: string): Promise<number> {
  await rm(join(folder, 'members', entry), { force: true })
  const living = await livingMembers(folder)
  return living.length
}

/** The entries of processes that run, after those of dead processes were deleted. */
export async function livingMembers(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'members')).catch(() => [])
  const living: string[] = []
  for (const entry of entries) {
    if (isAlive(entry.slice(0, entry.lastIndexOf('.')))) living.push(entry)
    else await rm(join(folder, 'members', entry), { force: true })
  }
  return living
}
