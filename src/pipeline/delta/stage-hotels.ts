import { sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { DeltaQuery, PartnerSnapshot } from '../../partner/dialect.ts'
import type { JudgeRow } from '../preflight/preflight.ts'
import type { CursorStream } from '../streams/our-streams.ts'
import { maxPartnerIdLength } from '../streams/rules/row-content.ts'
import { stageRows } from './landing/stage-rows.ts'
import { nothingSeen, type Seen, stagedLines } from './staged-lines.ts'

/** Hotels that one query asks for: a statement of some 10 kB. */
const hotelsAtOnce = 200
/** So many hotels are asked for. Some servers find none of them by an index: then each query reads the whole stream. */
const hotelsByName = 1_000
/** Hotels of a stream that one run asks for. */
export const hotelsAtMost = 5_000

type HotelReading = {
  client: PoolClient
  snapshot: PartnerSnapshot
  stream: Pick<CursorStream, 'shape' | 'query' | 'cursor'>
  judge: JudgeRow
}

/**
 * Stages all rows of hotels, wherever their cursors stand, from the snapshot that the run reads everything from. Of
 * many hotels the stream is read once, and the others are left out.
 */
export async function stageHotels(
  { client, snapshot, stream, judge }: HotelReading,
  partnerIds: readonly string[],
): Promise<Seen> {
  const { shape, query, cursor } = stream
  const seen = nothingSeen()
  const stage = async (some: readonly string[], which: Pick<DeltaQuery, 'only'>) => {
    const rows = snapshot.delta({ ...query, cursor, from: null, overlapMs: 0, ...which })
    await stageRows(client, stagedLines(rows, { shape, judge, seen, only: new Set(some) }))
  }
  if (partnerIds.length > hotelsByName) await stage(partnerIds, {})
  else {
    for (let at = 0; at < partnerIds.length; at += hotelsAtOnce) {
      const some = partnerIds.slice(at, at + hotelsAtOnce)
      await stage(some, { only: { column: shape.idColumn, partnerIds: some } })
    }
  }
  return seen
}

/**
 * Hotels of staged rows that were gone: a delta brings what changed of them, and that may not be all there is. Of one
 * that contradicts itself it brings both sides, or neither, and then the contradiction stays.
 *
 * @returns one more than may be asked for where there are more. Partner ids that are not stored as the partner has them
 *   are left out, because nobody can ask for them.
 */
export async function partialHotels(trx: Transaction<Schema>, stream: string): Promise<string[]> {
  await sql`analyze staged (row_key)`.execute(trx)
  const { rows } = await sql<{ partner_id: string }>`
    select distinct staged.partner_id
    from staged join source_row held on held.stream = ${stream} and held.row_key = staged.row_key
    where held.gone_at is not null and length(staged.partner_id) <= ${maxPartnerIdLength}
    limit ${hotelsAtMost + 1}`.execute(trx)
  return rows.map(({ partner_id }) => partner_id)
}

/**
 * Stages all rows of hotels in the place of those that a delta brought of them.
 * @param seen what was seen of the delta: the rows that come once more are added to it.
 */
export async function stageHotelsAnew(
  trx: Transaction<Schema>,
  reading: HotelReading,
  partnerIds: readonly string[],
  seen: Seen,
): Promise<void> {
  const { numAffectedRows = 0n } = await sql`
    delete from staged where partner_id = any(${partnerIds}::text[])`.execute(trx)
  const again = await stageHotels(reading, partnerIds)
  seen.rows += again.rows
  // What was staged of them before shares its ledger rows with what comes now.
  seen.folded += again.folded + Number(numAffectedRows)
}
