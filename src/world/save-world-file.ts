import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { WorldCompany } from './world-company.ts'
import { WorldFileError } from './world-file-error.ts'
import type { WorldHead } from './world-head.ts'

/** Text handed to the file system at once. */
const chunkCharacters = 1 << 20

/**
 * Writes a world file: all of it or none. It stands under another name in the same folder until it is complete and on
 * the disk; only its owner may read it, since it says what a profile has at the service.
 * @returns how many companies were written, and how many bytes.
 * @throws {WorldFileError} `world_file_not_written`; nothing is left behind. What `companies` throws goes through.
 */
export async function saveWorldFile(
  path: string,
  head: WorldHead,
  companies: AsyncIterable<WorldCompany>,
): Promise<{ companies: number; bytes: number }> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.partial`
  let handle: FileHandle | undefined
  try {
    const opened = await ours(path, () => open(temporary, 'wx', 0o600))
    handle = opened
    const written = await writeLines(path, opened, head, companies)
    await ours(path, () => opened.sync())
    await ours(path, () => opened.close())
    handle = undefined
    await ours(path, () => rename(temporary, path))
    await syncFolder(dirname(path))
    return written
  } catch (error) {
    await handle?.close().catch(() => undefined)
    await rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
}

async function writeLines(
  path: string,
  handle: FileHandle,
  head: WorldHead,
  companies: AsyncIterable<WorldCompany>,
): Promise<{ companies: number; bytes: number }> {
  let chunk = `${JSON.stringify(head)}\n`
  const written = { companies: 0, bytes: 0 }
  const flush = async () => {
    const bytes = Buffer.from(chunk)
    chunk = ''
    await ours(path, () => handle.writeFile(bytes))
    written.bytes += bytes.length
  }
  for await (const company of companies) {
    chunk += `${JSON.stringify(sparse(company))}\n`
    written.companies += 1
    if (chunk.length >= chunkCharacters) await flush()
  }
  await flush()
  return written
}

/** A company without the members that say nothing: reading puts their defaults in. */
function sparse(company: WorldCompany): Partial<WorldCompany> {
  const says = (value: unknown) =>
    value !== null && value !== false && !(typeof value === 'object' && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(company).filter(([, value]) => says(value)))
}

/** The folder's entry is on the disk as well, where the file system lets a folder be synchronised. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** What fails here is the file's fault, not that of the service whose companies are written. */
async function ours<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const message = `The world file ${path} cannot be written: ${(error as Error).message}. Nothing was left there; free the disk or name another place.`
    throw new WorldFileError('world_file_not_written', message, { cause: error })
  }
}
