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

/** Whoever hands rows over met one that has to be staged. */
export class RowNeedsCare extends Error {
  readonly why: NeedsCare

  constructor(why: NeedsCare) {
    super(why)
    this.why = why
  }
}

/** Characters of contents that are copied at a time, while the next are made. */
const chunkLength = 512 * 1024

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
  let written = 0
  const samples: number[] = []
  const write = async (rows: readonly DirectRow[]) => {
    const ids = await nextRowIds(trx, rows.length)
    await writeRows(client, landing, rows, ids)
    samples.push(ids[0] ?? 0)
    written += rows.length
  }
  try {
    await eachChunk(batches, write)
    if (!(await hashesAgree(trx, samples))) return await takeBack(trx, 'hash_differs')
  } catch (error) {
    const why = error instanceof RowNeedsCare ? error.why : isRepeatedKey(error) ? 'repeated_key' : null
    if (why === null) throw error
    return await takeBack(trx, why)
  }
  await sql`release savepoint direct_landing`.execute(trx)
  return written
}

/** One chunk is written while the next is made. */
async function eachChunk(
  batches: AsyncIterable<readonly DirectRow[]>,
  write: (rows: readonly DirectRow[]) => Promise<void>,
): Promise<void> {
  let writing = Promise.resolve()
  const begin = (rows: readonly DirectRow[]) => {
    writing = write(rows)
    // It is awaited before the next one begins.
    writing.catch(() => {})
  }
  let chunk: DirectRow[] = []
  let length = 0
  try {
    for await (const batch of batches) {
      for (const row of batch) {
        chunk.push(row)
        length += row.text.length
      }
      if (length < chunkLength) continue
      await writing
      begin(chunk)
      chunk = []
      length = 0
    }
  } finally {
    // Whatever else went wrong: nobody may go on with the connection while a chunk is on its way.
    await writing
  }
  if (chunk.length > 0) await write(chunk)
}

async function writeRows(
  client: PoolClient,
  { stream, judgedBy }: DirectLanding,
  rows: readonly DirectRow[],
  ids: readonly number[],
): Promise<void> {
  const name = copyText(stream)
  const judged = String(notCompared(judgedBy))
  let contents = ''
  let acceptances = ''
  for (const [index, { partnerId, rowKey, text, reason }] of rows.entries()) {
    const id = ids[index] ?? 0
    const partner = copyText(partnerId)
    const content = contentHash(text)
    contents += `${id}\t${name}\t${partner}\t${copyText(rowKey)}\t${copyText(text)}\t${content}\n`
    const verdict = reason === undefined ? '\\N\t0\t\\N' : `${content}\t${judged}\t${copyText(reason)}`
    acceptances += `${id}\t${partner}\t${content}\t${verdict}\n`
  }
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

async function copyIn(client: PoolClient, target: string, lines: string): Promise<void> {
  await pipeline([Buffer.from(lines)], client.query(copyFrom(`copy ${target} from stdin`)))
}

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

/** `unique_violation`: row numbers are given once, so it is the key that tells the rows of a stream apart. */
function isRepeatedKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.table === 'source_row'
}
