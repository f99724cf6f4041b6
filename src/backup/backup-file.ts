import { createHash } from 'node:crypto'

/** The form of the file. A reader refuses a number that it does not know. */
const form = 1

/**
 * A backup cannot be used. `backup_unusable`: it is none, or not as it was written. `backup_newer`: of a newer version.
 * `database_not_empty`: it would be restored over something.
 */
export class BackupRefused extends Error {
  readonly code: 'backup_unusable' | 'backup_newer' | 'database_not_empty'

  constructor(code: BackupRefused['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export type BackupTable = {
  schema: string
  name: string
  columns: string[]
  /** The newest number that each of its columns with a sequence was given; none where it was given none. */
  numbers: { column: string; last: string }[]
}

/** What a backup says of itself before its rows. */
export type BackupHead = {
  /** Of the program that took it. */
  version: string
  /** The newest migration that the database had. */
  migration: string
  /** The destination in use. */
  destination: string
  takenAt: string
  /** The number of the run that was under way, of several the first; null where none was. */
  runUnderWay: number | null
  /** In the order in which they follow: each after those that its foreign keys lead to. */
  tables: BackupTable[]
}

/** What the rows of a table come to, as COPY writes them. */
export type TableSum = { rows: number; bytes: number; sha256: string }

/** Adds up what COPY writes of one table: a row is a line, and a line break within a value is escaped. */
export function tableSum(): { add: (part: Buffer) => void; sum: () => TableSum } {
  const hash = createHash('sha256')
  let [rows, bytes] = [0, 0]
  return {
    add: (part) => {
      hash.update(part)
      bytes += part.length
      for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) rows++
    },
    sum: () => ({ rows, bytes, sha256: hash.copy().digest('hex') }),
  }
}

export function isSameSum(one: TableSum, other: TableSum): boolean {
  return one.rows === other.rows && one.bytes === other.bytes && one.sha256 === other.sha256
}

/** A piece of the file. A longer one is none that we wrote, and would take memory that nobody has planned for. */
const longestPart = 1024 * 1024
const longestLine = 16 * 1024 * 1024

/**
 * The content of a backup, before it is compressed: its head in a line of JSON; of each table its rows in pieces, each
 * behind its length in four bytes, and a piece of no length at the end; and in a line of JSON what each table came to.
 * @param rowsOf what COPY writes of a table.
 */
export async function* backupContent(
  head: BackupHead,
  rowsOf: (table: BackupTable) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  yield lineOf({ nightferryBackup: form, ...head })
  const sums: TableSum[] = []
  for (const table of head.tables) {
    const { add, sum } = tableSum()
    for await (const part of rowsOf(table)) {
      add(part)
      for (let from = 0; from < part.length; from += longestPart) {
        const piece = part.subarray(from, from + longestPart)
        yield Buffer.concat([lengthOf(piece.length), piece])
      }
    }
    yield lengthOf(0)
    sums.push(sum())
  }
  yield lineOf({ sums })
}

function lineOf(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  return length
}

/** A backup that is read from its beginning to its end: `head`, then the rows of each table, then `sums`. */
export type BackupReader = {
  head: BackupHead
  /** The rows of the next table, which are read to their end before anything else is asked for. */
  rows(): AsyncGenerator<Buffer, void>
  /** What the tables came to when the backup was taken. */
  sums(): Promise<TableSum[]>
}

/**
 * Opens a backup that was decompressed.
 * @throws {BackupRefused} when it is none, or of a form that is not known. The other parts throw the same.
 */
export async function openBackup(content: AsyncIterable<Buffer>): Promise<BackupReader> {
  const bytes = new Bytes(content)
  const { nightferryBackup, ...head } = jsonOf<BackupHead & { nightferryBackup?: unknown }>(await bytes.line())
  if (typeof nightferryBackup !== 'number') throw unusable('it is no backup of Nightferry')
  if (nightferryBackup !== form) {
    throw new BackupRefused(
      'backup_newer',
      `The backup was written by Nightferry ${head.version} in a form that this version does not know. Restore it with that version.`,
    )
  }
  return {
    head,
    async *rows() {
      for (;;) {
        const length = (await bytes.take(4)).readUInt32BE()
        if (length === 0) return
        if (length > longestPart) throw unusable('a piece of it is longer than any that Nightferry writes')
        yield await bytes.take(length)
      }
    },
    sums: async () => {
      const { sums } = jsonOf<{ sums?: TableSum[] }>(await bytes.line())
      if (sums?.length !== head.tables.length) throw unusable('what its tables came to is missing')
      await bytes.end()
      return sums
    },
  }
}

function unusable(why: string, cause?: unknown): BackupRefused {
  const message = `The file cannot be restored: ${why}. Take another backup. Nothing was changed.`
  return new BackupRefused('backup_unusable', message, cause === undefined ? {} : { cause })
}

function jsonOf<T extends object>(line: Buffer): T {
  try {
    return JSON.parse(line.toString('utf8')) as T
  } catch (cause) {
    throw unusable('a line of it is no JSON', cause)
  }
}

/** What a stream brings, taken in the lengths that are asked for. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>
  #held: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  async #more(): Promise<boolean> {
    const next = await this.#source.next().catch((cause: Error) => {
      throw unusable(cause.message, cause)
    })
    if (next.done === true) return false
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value])
    return true
  }

  async take(length: number): Promise<Buffer> {
    while (this.#held.length < length) if (!(await this.#more())) throw unusable('it is cut short')
    const taken = this.#held.subarray(0, length)
    this.#held = this.#held.subarray(length)
    return taken
  }

  async line(): Promise<Buffer> {
    for (let from = 0; ; ) {
      const end = this.#held.indexOf(10, from)
      if (end !== -1) return (await this.take(end + 1)).subarray(0, -1)
      from = this.#held.length
      if (from > longestLine) throw unusable('it is no backup of Nightferry')
      if (!(await this.#more())) throw unusable(from === 0 ? 'it is cut short' : 'it is no backup of Nightferry')
    }
  }

  async end(): Promise<void> {
    if (this.#held.length > 0 || (await this.#more())) throw unusable('something stands behind its end')
  }
}
