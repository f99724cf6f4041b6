import { hash } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import pg, { type PoolClient } from 'pg'
import { copyBytes, copyNull, copyText } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { Turns } from '../../../db/turns.ts'
import { notCompared } from '../../preflight/judging-basis.ts'
import { type Batch, DirectCopies } from './direct-copies.ts'
import type { PassedHashes } from './passed-hashes.ts'
import { RowNumbers } from './row-numbers.ts'

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
export type NeedsCare = 'repeated_key' | 'without_cursor' | 'hash_differs'

/** What hands rows over met one that has to be staged. */
export class RowNeedsCare extends Error {
  readonly why: NeedsCare

  constructor(why: NeedsCare) {
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
): Promise<number | NeedsCare> {
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

async function takeBack(trx: Transaction<Schema>, why: NeedsCare): Promise<NeedsCare> {
  await sql`rollback to savepoint direct_landing`.execute(trx)
  return why
}

/** `unique_violation`: row numbers are given once, so it is the key that tells the rows of a stream apart. */
function isRepeatedKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.table === 'source_row'
}
