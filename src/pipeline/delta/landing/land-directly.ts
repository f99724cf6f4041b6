import { hash } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import pg, { type PoolClient } from 'pg'
import { binaryFile, copyBytes, copyNull, copyReady, copyText, type ReadyRows } from '../../../db/copy-text.ts'
import { Turns } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { notCompared } from '../../preflight/judgements.ts'
import type { PassedHashes } from './line-sums.ts'

/** A row that is whole, with its content as `jsonbText` writes it. */
export type DirectRow = {
  partnerId: string
  rowKey: string
  text: string
  /** What is wrong with it, or null; undefined where that is for preflight to say. */
  reason: string | null | undefined
  /** How many of the partner's rows it is made of; 1 by default. */
  parts?: number
}

type DirectLanding = {
  stream: string
  judgedBy: number
  /** Of a snapshot: hashes of the lines that rows are made of, which are kept in `kept_line`. */
  hashes?: PassedHashes
}

/** Why rows have to be staged after all. */
export type WhyStaged = 'repeated_key' | 'without_cursor' | 'hash_differs'

/** What hands rows over met one that has to be staged. */
export class RowNeedsCare extends Error {
  readonly why: WhyStaged

  constructor(why: WhyStaged) {
    super(why)
    this.why = why
  }
}

/**
 * Writes the rows of a stream of which the ledger has nothing yet straight into its tables, in the shape in which they
 * are stored: nothing has to be compared, so nothing is staged. Inside the caller's transaction, on its connection.
 *
 * Two rows with one key end it, for nobody knows here which is right; so does a server that writes content otherwise
 * than `jsonbText` does, of which a row in each chunk is asked. Then nothing is written, and the rows are to be staged.
 *
 * @returns how many rows were written, or why none was.
 */
export async function landDirectly(
  client: PoolClient,
  trx: Transaction<Schema>,
  landing: DirectLanding,
  batches: AsyncIterable<readonly DirectRow[]>,
): Promise<number | WhyStaged> {
  await sql`savepoint direct_landing`.execute(trx)
  const turns = new Turns()
  const numbers = new RowNumbers(trx, turns)
  const copies = new DirectCopies(client, turns)
  const samples: number[] = []
  let written = 0
  try {
    for await (const rows of batches) {
      const taken = await numbers.take(rows.length)
      if (copies.isAtStart) samples.push(taken[0] ?? 0)
      await copies.add(linesOf(landing, rows, taken))
      written += rows.length
    }
    await copies.end()
    if (!(await hashesAgree(trx, samples))) return await takeBack(trx, 'hash_differs')
  } catch (error) {
    // Nobody may go on with the connection while a chunk is on its way.
    const cause = (await copies.failure()) ?? error
    await turns.take(async () => {})
    const why = error instanceof RowNeedsCare ? error.why : isRepeatedKey(cause) ? 'repeated_key' : null
    if (why === null) throw cause
    return await takeBack(trx, why)
  }
  await sql`release savepoint direct_landing`.execute(trx)
  return written
}

function linesOf(
  { stream, judgedBy, hashes }: DirectLanding,
  rows: readonly DirectRow[],
  numbers: readonly number[],
): Batch {
  const name = copyText(stream)
  const judged = String(notCompared(judgedBy))
  let contents = ''
  let acceptances = ''
  for (const [index, { partnerId, rowKey, text, reason }] of rows.entries()) {
    const id = numbers[index] ?? 0
    const partner = copyText(partnerId)
    const content = contentHash(text)
    contents += `${id}\t${name}\t${partner}\t${copyText(rowKey)}\t${copyText(text)}\t${content}\n`
    const verdict = reason === undefined ? `${copyNull}\t0\t${copyNull}` : `${content}\t${judged}\t${copyText(reason)}`
    acceptances += `${id}\t${partner}\t${content}\t${verdict}\n`
  }
  return { source_row: contents, acceptance: acceptances, kept_line: hashes?.take(rows, numbers) ?? '' }
}

/** The first 16 bytes of the SHA-256, as COPY's text form of `bytea`. */
function contentHash(text: string): string {
  return copyBytes(hash('sha256', text).slice(0, 32))
}

async function hashesAgree(trx: Transaction<Schema>, rowIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql<{ agree: boolean }>`
    select coalesce(bool_and(desired_hash = substring(sha256(convert_to(content::text, 'UTF8')) for 16)), true) as agree
    from source_row where row_id = any(${rowIds}::bigint[])`.execute(trx)
  return rows[0]?.agree === true
}

async function takeBack(trx: Transaction<Schema>, why: WhyStaged): Promise<WhyStaged> {
  await sql`rollback to savepoint direct_landing`.execute(trx)
  return why
}

/** `unique_violation`: row numbers are given once, so it is the key that tells the rows of a stream apart. */
function isRepeatedKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.table === 'source_row'
}

const columns = {
  source_row: 'row_id, stream, partner_id, row_key, content, desired_hash',
  acceptance: 'row_id, partner_id, wanted_hash, checked_hash, judged_by, invalid_reason',
  kept_line: 'bucket, high, low, row_id',
} as const

type Table = keyof typeof columns
const tables = Object.keys(columns) as Table[]

/**
 * Bytes of contents that are copied at a time, while the next are made. The first chunk is small, so that the server
 * begins soon; each of the next is twice as large, because between two chunks the server waits.
 */
const firstChunkBytes = 64 * 1024
const chunkBytes = 1024 * 1024

/** Chunks that are with the server or wait for it, so that it never waits for us; each is held in memory. */
const chunksAhead = 2

/** Room for a chunk and the batch that fills it; of longer rows there may be more than fits. */
const roomBytes = { source_row: chunkBytes + 512 * 1024, acceptance: 1024 * 1024, kept_line: 512 * 1024 }

/** Lines of one table as bytes, and those of batches that did not fit. */
type Lines = { room: Buffer; bytes: number; further: Buffer[] }

type Chunk = Record<Table, Lines>

/** Rows of each table: of `kept_line`, where a snapshot is read, in COPY's binary form. */
type Batch = Record<Exclude<Table, 'kept_line'>, string> & { kept_line: Buffer | '' }

/**
 * Copies the lines of all tables as soon as there are enough of them. A batch becomes bytes at once: as objects its
 * rows would be moved by every collection until they are sent. The bytes of a chunk that was copied are written over by
 * a later one, because V8 collects its whole heap each time that so many are allocated.
 */
class DirectCopies {
  readonly #client: PoolClient
  readonly #turns: Turns
  readonly #copying: Promise<void>[] = []
  #chunk = takeChunk()
  #enough = firstChunkBytes

  constructor(client: PoolClient, turns: Turns) {
    this.#client = client
    this.#turns = turns
  }

  /** Whether nothing of the next chunk has come yet. */
  get isAtStart(): boolean {
    return this.#chunk.source_row.bytes === 0
  }

  async add(batch: Batch): Promise<void> {
    for (const table of tables) {
      const [lines, text] = [this.#chunk[table], batch[table]]
      const left = lines.room.length - lines.bytes
      // A character is three bytes at most.
      const fits = text.length * 3 <= left || Buffer.byteLength(text) <= left
      if (!fits) lines.further.push(Buffer.from(text))
      else if (typeof text === 'string') lines.bytes += lines.room.write(text, lines.bytes)
      else lines.bytes += text.copy(lines.room, lines.bytes)
    }
    const isFull = tables.some((table) => this.#chunk[table].further.length > 0)
    if (!isFull && this.#chunk.source_row.bytes < this.#enough) return
    this.#copy()
    this.#enough = Math.min(this.#enough * 2, chunkBytes)
    if (this.#copying.length > chunksAhead) await this.#copying.shift()
  }

  /** Copies what is left, and waits for all. Nothing may be added afterwards. */
  async end(): Promise<void> {
    if (!this.isAtStart) this.#copy()
    for (const copying of this.#copying) await copying
    giveBack(this.#chunk)
  }

  /**
   * What the first of all chunks failed of, once none is under way: what was asked after it fails because the
   * transaction is aborted (25P02), and says less.
   */
  async failure(): Promise<unknown> {
    const ended = await Promise.allSettled(this.#copying)
    const reasons = ended.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
    return reasons.find((reason) => !(reason instanceof pg.DatabaseError && reason.code === '25P02'))
  }

  #copy(): void {
    const chunk = this.#chunk
    this.#chunk = takeChunk()
    const copying = this.#turns.take(async () => {
      const copies = tables.flatMap((table): ReadyRows[] => {
        const { room, bytes, further } = chunk[table]
        const into = `${table} (${columns[table]})`
        const rows = [room.subarray(0, bytes), ...further]
        if (table !== 'kept_line') return [{ into, rows }]
        return bytes === 0 && further.length === 0 ? [] : [{ into, binary: true, rows: binaryFile(rows) }]
      })
      await copyReady(this.#client, copies)
      giveBack(chunk)
    })
    // It is awaited before too many wait.
    copying.catch(() => {})
    this.#copying.push(copying)
  }
}

/**
 * Chunks that were copied, for later ones and for the next streams. As many as one stream has at a time. Kept weakly:
 * once all streams have landed, the next full collection frees them.
 */
let spare = new WeakRef<Chunk[]>([])

function takeChunk(): Chunk {
  const linesOf = (table: Table): Lines => ({ room: Buffer.allocUnsafeSlow(roomBytes[table]), bytes: 0, further: [] })
  return (
    spare.deref()?.pop() ?? {
      source_row: linesOf('source_row'),
      acceptance: linesOf('acceptance'),
      kept_line: linesOf('kept_line'),
    }
  )
}

function giveBack(chunk: Chunk): void {
  for (const table of tables) Object.assign(chunk[table], { bytes: 0, further: [] })
  const chunks = spare.deref() ?? []
  if (chunks.length < chunksAhead + 2) chunks.push(chunk)
  spare = new WeakRef(chunks)
}

/** Row numbers that are asked for at a time at least, and at most ahead. */
const fewestNumbers = 1_000
const mostNumbers = 16_000

/** The numbers of the rows to come, asked for in advance: once a chunk is with the server, an answer takes its time. */
class RowNumbers {
  readonly #trx: Transaction<Schema>
  readonly #turns: Turns
  #coming: Promise<number[]> | null = null
  #numbers: number[] = []
  #taken = 0
  #asked = fewestNumbers

  constructor(trx: Transaction<Schema>, turns: Turns) {
    this.#trx = trx
    this.#turns = turns
  }

  async take(count: number): Promise<number[]> {
    while (this.#left < count) {
      this.#coming ??= this.#ask(count)
      this.#numbers = [...this.#numbers.slice(this.#taken), ...(await this.#coming)]
      this.#coming = null
      this.#taken = 0
    }
    this.#taken += count
    const numbers = this.#numbers.slice(this.#taken - count, this.#taken)
    // Half of them are left while more come, so that nobody waits for these.
    if (this.#left < this.#asked / 2) this.#coming ??= this.#ask(count)
    return numbers
  }

  get #left(): number {
    return this.#numbers.length - this.#taken
  }

  #ask(count: number): Promise<number[]> {
    this.#asked = Math.max(count, Math.min(this.#asked * 2, mostNumbers))
    const coming = this.#turns.take(() => nextRowIds(this.#trx, this.#asked))
    // Anyone who takes from it is told.
    coming.catch(() => {})
    return coming
  }
}

async function nextRowIds(trx: Transaction<Schema>, count: number): Promise<number[]> {
  const taken = sql`
    select nextval(sequence) as id
    from (select pg_get_serial_sequence('source_row', 'row_id')::regclass as sequence offset 0) named,
      generate_series(1, ${count}::integer)`
  const { rows } = await sql<{ first: number; last: number }>`
    select min(id) as first, max(id) as last from (${taken}) taken`.execute(trx)
  const [range] = rows
  if (range !== undefined && range.last - range.first === count - 1) {
    return Array.from({ length: count }, (_, index) => range.first + index)
  }
  // Somebody else took numbers meanwhile: these are let go, and the next are told one by one.
  const { rows: listed } = await sql<{ ids: number[] }>`select json_agg(id) as ids from (${taken}) taken`.execute(trx)
  return listed[0]?.ids ?? []
}
