import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { z } from 'zod'
import {
  declaredIn,
  faultsOfCompany,
  faultsOfHead,
  type WorldCompany,
  WorldFileError,
  type WorldHead,
  worldCompany,
  worldHead,
} from './world-form.ts'

/** A world on its way into a sandbox. */
export type WorldSource = {
  /** SHA-256 of the file, in hexadecimal digits: whether a database holds this world already. */
  digest: string
  head: WorldHead
  /**
   * The companies in the order of the file, read as they are asked for.
   * @throws {WorldFileError} with the line's number.
   */
  companies(): AsyncIterable<WorldCompany>
}

/** Longest line in characters: a head with its frameworks, or a company with everything it has. */
const maxLine = 64 * 1024 * 1024
/** Faults that a message names. */
const namedFaults = 5

/**
 * Opens a world file (docs/sandbox.md): one line of JSON with everything but the companies, and one line per company.
 * Only one line is in memory at a time.
 * @throws {WorldFileError} `world_file_unreadable` when there is no such file, `world_file_invalid` for its first line.
 */
export async function openWorldFile(path: string): Promise<WorldSource> {
  const hash = createHash('sha256')
  let first: string | undefined
  try {
    for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer)
    for await (const line of linesOf(path)) {
      first = line
      break
    }
  } catch (error) {
    if (error instanceof WorldFileError) throw error
    const message = `The world file ${path} cannot be read: ${(error as Error).message}. Name a file that this user may read.`
    throw new WorldFileError('world_file_unreadable', message, { cause: error })
  }
  const head = parseLine(path, 1, first ?? '', worldHead)
  refuse(path, 1, faultsOfHead(head))
  const declared = declaredIn(head)
  return {
    digest: hash.digest('hex'),
    head,
    companies: async function* () {
      let number = 0
      for await (const line of linesOf(path)) {
        number += 1
        if (number === 1 || line.trim() === '') continue
        const company = parseLine(path, number, line, worldCompany)
        refuse(path, number, faultsOfCompany(declared, company))
        yield company
      }
    },
  }
}

function parseLine<T>(path: string, number: number, line: string, schema: z.ZodType<T>): T {
  let read: unknown
  try {
    read = JSON.parse(line)
  } catch {
    throw invalid(path, number, ['the line is no JSON'])
  }
  const checked = schema.safeParse(read)
  if (checked.success) return checked.data
  throw invalid(
    path,
    number,
    checked.error.issues.map((issue) => `${issue.path.join('.') || 'the line'}: ${issue.message}`),
  )
}

function refuse(path: string, number: number, faults: readonly string[]): void {
  if (faults.length > 0) throw invalid(path, number, faults)
}

function invalid(path: string, number: number, faults: readonly string[]): WorldFileError {
  const more = faults.length > namedFaults ? `; and ${faults.length - namedFaults} more` : ''
  const said = `${faults.slice(0, namedFaults).join('; ')}${more}`
  const message = `The world file ${path}, line ${number}: ${said}. The page docs/sandbox.md says what a world file holds.`
  return new WorldFileError('world_file_invalid', message)
}

/** The lines of a file without their ends. node:readline has no bound on a line, and a file may have but one. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let number = 1
  let held = ''
  const decode = (bytes?: Uint8Array) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      throw invalid(path, number, ['this line or a later one is no UTF-8'])
    }
  }
  for await (const bytes of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const parts = decode(bytes as Buffer).split('\n')
    for (const part of parts.slice(0, -1)) {
      yield held + part
      held = ''
      number += 1
    }
    held += parts.at(-1) ?? ''
    if (held.length > maxLine) throw invalid(path, number, [`the line is longer than ${maxLine} characters`])
  }
  held += decode()
  if (held !== '') yield held
}

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
