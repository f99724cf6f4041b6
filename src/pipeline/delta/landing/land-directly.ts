import { hash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { sql, type Transaction } from 'kysely'
import pg, { type PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { copyText } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { notCompared } from '../../preflight/judging-basis.ts'

/** A row that is whole, with its content as `jsonbText` writes it. */
export type DirectRow = {
  partnerId: string
  rowKey: string
  text: string
  /** What is wrong with it, or null; undefined where that is for preflight to say. */
  reason: string | null | undefined
}

type DirectLanding = { stream: string; judgedBy: number }

/** Why rows have to be staged after all. */
type NeedsCare = 'repeated_key' | 'without_cursor' | 'hash_differs'

/** What hands rows over met one that has to be staged. */
export class RowNeedsCare extends Error {
  readonly why: NeedsCare

  constructor(why: NeedsCare) {
    super(why)
    this.why = why
  }
}

/** Bytes of both tables' lines that are copied at a time, while the next are made. */
const chunkBytes = 512 * 1024

/** Chunks that are with the server or wait for it, so that it never waits for us; each is held in memory. */
const chunksAhead = 2

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
): Promise<number | NeedsCare> {
  await sql`savepoint direct_landing`.execute(trx)
  const turn = createTurns()
  const numbers = new RowNumbers(trx, turn)
  const samples: number[] = []
  const writing: Promise<unknown>[] = []
  let chunk = emptyChunk()
  let written = 0
  const write = async () => {
    numbers.reserve(chunk.rows)
    const { contents, acceptances } = chunk
    const copying = turn(() => copyChunk(client, contents, acceptances))
    // It is awaited before too many wait.
    copying.catch(() => {})
    writing.push(copying)
    samples.push(chunk.firstNumber)
    written += chunk.rows
    chunk = emptyChunk()
    if (writing.length > chunksAhead) await writing.shift()
  }
  try {
    for await (const rows of batches) {
      addLines(chunk, landing, rows, await numbers.take(rows.length))
      if (chunk.bytes >= chunkBytes) await write()
    }
    if (chunk.rows > 0) await write()
    for (const copying of writing) await copying
    if (!(await hashesAgree(trx, samples))) return await takeBack(trx, 'hash_differs')
  } catch (error) {
    // Nobody may go on with the connection while a chunk is on its way.
    const cause = firstCause(await Promise.allSettled(writing)) ?? error
    await turn(async () => {})
    const why = error instanceof RowNeedsCare ? error.why : isRepeatedKey(cause) ? 'repeated_key' : null
    if (why === null) throw cause
    return await takeBack(trx, why)
  }
  await sql`release savepoint direct_landing`.execute(trx)
  return written
}

/** Lines of COPY for both tables, in pieces of a batch each. */
type Chunk = { rows: number; firstNumber: number; bytes: number; contents: Buffer[]; acceptances: Buffer[] }

function emptyChunk(): Chunk {
  return { rows: 0, firstNumber: 0, bytes: 0, contents: [], acceptances: [] }
}

/** A batch becomes bytes at once: as objects its rows would be moved by every collection until they are sent. */
function addLines(
  chunk: Chunk,
  { stream, judgedBy }: DirectLanding,
  rows: readonly DirectRow[],
  numbers: readonly number[],
): void {
  const name = copyText(stream)
  const judged = String(notCompared(judgedBy))
  let contents = ''
  let acceptances = ''
  for (const [index, { partnerId, rowKey, text, reason }] of rows.entries()) {
    const id = numbers[index] ?? 0
    const partner = copyText(partnerId)
    const content = contentHash(text)
    contents += `${id}\t${name}\t${partner}\t${copyText(rowKey)}\t${copyText(text)}\t${content}\n`
    const verdict = reason === undefined ? '\\N\t0\t\\N' : `${content}\t${judged}\t${copyText(reason)}`
    acceptances += `${id}\t${partner}\t${content}\t${verdict}\n`
  }
  if (chunk.rows === 0) chunk.firstNumber = numbers[0] ?? 0
  chunk.rows += rows.length
  for (const [pieces, lines] of [
    [chunk.contents, contents],
    [chunk.acceptances, acceptances],
  ] as const) {
    const piece = Buffer.from(lines)
    pieces.push(piece)
    chunk.bytes += piece.length
  }
}

type Turn = <T>(work: () => Promise<T>) => Promise<T>

/** One after the other, as the connection needs it; what failed keeps nobody from their turn. */
function createTurns(): Turn {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work, work)
    last = done.catch(() => {})
    return done
  }
}

async function copyChunk(
  client: PoolClient,
  contents: readonly Buffer[],
  acceptances: readonly Buffer[],
): Promise<void> {
  await copyIn(client, 'source_row (row_id, stream, partner_id, row_key, content, desired_hash)', contents)
  await copyIn(
    client,
    'acceptance (row_id, partner_id, wanted_hash, checked_hash, judged_by, invalid_reason)',
    acceptances,
  )
}

/** The first 16 bytes of the SHA-256, as COPY's text form of `bytea`. */
function contentHash(text: string): string {
  return `\\\\x${hash('sha256', text).slice(0, 32)}`
}

async function copyIn(client: PoolClient, target: string, pieces: readonly Buffer[]): Promise<void> {
  await pipeline(pieces, client.query(copyFrom(`copy ${target} from stdin`)))
}

/** The numbers of the rows to come, asked for in advance: once a chunk is with the server, an answer takes its time. */
class RowNumbers {
  readonly #trx: Transaction<Schema>
  readonly #turn: Turn
  readonly #coming: Promise<number[]>[] = []
  #numbers: number[] = []
  #taken = 0

  constructor(trx: Transaction<Schema>, turn: Turn) {
    this.#trx = trx
    this.#turn = turn
  }

  reserve(count: number): void {
    const coming = this.#turn(() => nextRowIds(this.#trx, count))
    coming.catch(() => {})
    this.#coming.push(coming)
  }

  async take(count: number): Promise<number[]> {
    while (this.#numbers.length - this.#taken < count) {
      if (this.#coming.length === 0) this.reserve(Math.max(count, fewestNumbers))
      this.#numbers = [...this.#numbers.slice(this.#taken), ...((await this.#coming.shift()) ?? [])]
      this.#taken = 0
    }
    this.#taken += count
    return this.#numbers.slice(this.#taken - count, this.#taken)
  }
}

/** Row numbers that are asked for at a time at least. */
const fewestNumbers = 1_000

async function nextRowIds(trx: Transaction<Schema>, count: number): Promise<number[]> {
  const { rows } = await sql<{ ids: number[] }>`
    with named as materialized (select pg_get_serial_sequence('source_row', 'row_id')::regclass as sequence)
    select array_to_json(array(
      select nextval(sequence) from named, generate_series(1, ${count}::integer)
    )) as ids`.execute(trx)
  return rows[0]?.ids ?? []
}

async function hashesAgree(trx: Transaction<Schema>, rowIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql<{ agree: boolean }>`
    select coalesce(bool_and(desired_hash = substring(sha256(convert_to(content::text, 'UTF8')) for 16)), true) as agree
    from source_row where row_id = any(${rowIds}::bigint[])`.execute(trx)
  return rows[0]?.agree === true
}

async function takeBack(trx: Transaction<Schema>, why: NeedsCare): Promise<NeedsCare> {
  await sql`rollback to savepoint direct_landing`.execute(trx)
  return why
}

/**
 * What a chunk failed of: whatever was asked after it fails because the transaction is aborted (25P02), and says less.
 */
function firstCause(ended: readonly PromiseSettledResult<unknown>[]): unknown {
  const reasons = ended.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
  return reasons.find((reason) => !(reason instanceof pg.DatabaseError && reason.code === '25P02'))
}

/** `unique_violation`: row numbers are given once, so it is the key that tells the rows of a stream apart. */
function isRepeatedKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.table === 'source_row'
}
