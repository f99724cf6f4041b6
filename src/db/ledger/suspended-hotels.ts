import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'

/** Whether a pilot is on without a hotel. Whether one is on depends on no row, so that a query asks it once. */
const isOutsidePilot = (partnerId: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`(
  exists (select from pilot)
    and not exists (select from pilot_hotel joined where joined.partner_id = ${partnerId} and not from_next_run))`

/**
 * Whether people have suspended the hotel of a row, by its id or by a pilot without it: nothing of it is planned into a
 * request. One that was resumed counts as suspended until a run takes note of it (`releaseResumed`), so that a run
 * which is under way sends no more than it counted. Another partner id of the same company is another hotel.
 * @param partnerId by default that of the `row` of the query.
 */
export function isSuspended(partnerId: RawBuilder<unknown> = sql`row.partner_id`): RawBuilder<boolean> {
  return sql<boolean>`(
    exists (select from suspended_hotel hotel where hotel.partner_id = ${partnerId}) or ${isOutsidePilot(partnerId)})`
}

/** Of a row that is parked, whether it waits for nothing but the end of its hotel's suspension, or first for that. */
export const isParkedAsSuspended = (state: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`(${state} = 'parked' and ${isSuspended()})`

/** Whether the hotel of a `row` of the query is suspended and stays so: the next run sends what people have resumed. */
export const staysSuspended: RawBuilder<boolean> = sql<boolean>`(
  exists (select from suspended_hotel hotel where hotel.partner_id = row.partner_id and hotel.resumed_at is null)
    or exists (select from pilot where ended_at is null)
      and not exists (select from pilot_hotel joined where joined.partner_id = row.partner_id))`

/** Why nothing is sent of the hotel of a `row`: what a person has yet to end comes before what the next run ends. */
const suspensionOfRow = sql`(
  select by, reason, suspended_by, suspended_at, resumed_by, resumed_at
  from (
    select 'hotel' as by, reason, suspended_by, suspended_at, resumed_by, resumed_at
    from suspended_hotel hotel where hotel.partner_id = row.partner_id
    union all
    -- A hotel that joins the pilot with the next run is resumed as well.
    select 'pilot', reason, started_by, started_at, coalesce(joined_by, ended_by), coalesce(joined_at, ended_at)
    from pilot left join pilot_hotel member on member.partner_id = row.partner_id
    where ${isOutsidePilot(sql`row.partner_id`)}
  ) suspension
  order by resumed_at is not null, by
  limit 1)`

/** That the hotel of a row, called `row`, is suspended, as a requirement of it (parked-reason.ts). */
export const suspensionRequirement: RawBuilder<unknown> = sql`(
  select by as required, case when resumed_at is null then 'suspended' else 'next_run' end as requirement_state,
         null::text as requirement_code,
         concat('by ', case when resumed_at is null then concat(suspended_by, ': ', reason) else resumed_by end)
           as requirement_reason,
         null::bigint as requirement_held_by, null::bigint as requirement_guard_run,
         coalesce(resumed_at, suspended_at) as requirement_since
  from ${suspensionOfRow} suspension)`

/** Takes note of what people resumed: from here on it is sent. As the preflight of a run begins, like retries. */
export async function releaseResumed(db: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockSuspensions(trx)
    await sql`delete from suspended_hotel where resumed_at is not null`.execute(trx)
    await sql`delete from pilot where ended_at is not null`.execute(trx)
    await sql`delete from pilot_hotel where not exists (select from pilot)`.execute(trx)
    await sql`update pilot_hotel set from_next_run = false where from_next_run`.execute(trx)
  })
}

/**
 * Keeps who is suspended as it is until the transaction ends: a cut reads it row by row, and what it planned of a hotel
 * that was suspended meanwhile would go out although a person was told that nothing does.
 */
export async function keepSuspensions(trx: Transaction<Schema>): Promise<void> {
  await sql`lock table suspended_hotel, pilot, pilot_hotel in share mode`.execute(trx)
}

/** One at a time changes who is suspended, and no cut is made meanwhile; anyone who only asks is not kept waiting. */
export async function lockSuspensions(trx: Transaction<Schema>): Promise<void> {
  await sql`lock table suspended_hotel, pilot, pilot_hotel in share row exclusive mode`.execute(trx)
}

/** Who suspended a hotel, since when and why; `resumed_at`: the next run sends its rows. */
type Suspension = {
  partner_id: string
  reason: string
  suspended_by: string
  suspended_at: Date
  resumed_by: string | null
  resumed_at: Date | null
}

/** The same of one hotel; `by`: its id was named (`hotel`), or it is outside the `pilot`. */
export type HotelSuspension = Omit<Suspension, 'partner_id'> & { by: 'hotel' | 'pilot' }

/** Why nothing of a hotel is sent; null: it is not suspended. */
export async function suspensionOf(db: Database, partnerId: string): Promise<HotelSuspension | null> {
  const { rows } = await sql<HotelSuspension>`
    select suspension.* from (select ${partnerId}::text as partner_id) row
    cross join lateral ${suspensionOfRow} suspension limit 1`.execute(db)
  return rows[0] ?? null
}

/** The pilot that is on; with `ended_at` only until the next run. */
type PilotStanding = {
  reason: string
  started_by: string
  started_at: Date
  ended_by: string | null
  ended_at: Date | null
  /** The hotels that are sent, with who added them; `from_next_run`: not yet by a run that is under way. */
  hotels: { partner_id: string; joined_by: string; joined_at: Date; from_next_run: boolean }[]
  /** Other hotels that the ledger knows. */
  others: number
}

/** Who is suspended by their ids, in the order of these, and the pilot. @param past the id after which to go on. */
export async function listSuspensions(
  db: Database,
  limit: number,
  past: string | null = null,
): Promise<{ pilot: PilotStanding | null; suspended: Suspension[]; next: string | null }> {
  const { rows: suspended } = await sql<Suspension>`
    select partner_id, reason, suspended_by, suspended_at, resumed_by, resumed_at from suspended_hotel
    where ${past}::text is null or partner_id > ${past}
    order by partner_id limit ${limit}`.execute(db)
  const isOther = sql`not exists (select from pilot_hotel member where member.partner_id = row.partner_id)`
  const { rows } = await sql<PilotStanding>`
    select reason, started_by, started_at, ended_by, ended_at,
           (select coalesce(jsonb_agg(to_jsonb(member) order by partner_id), '[]') from pilot_hotel member) as hotels,
           (select count(*) from (select distinct partner_id from source_row) row where ${isOther}) as others
    from pilot`.execute(db)
  const last = suspended.length < limit ? undefined : suspended.at(-1)
  return { pilot: rows[0] ?? null, suspended, next: last?.partner_id ?? null }
}
