import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import { isUnfinished } from '../tables/submission-tables.ts'
import type { Requires } from './requirements.ts'
import { lacksRequirement } from './row-state.ts'
import { isSuspended } from './suspended-hotels.ts'

/** A kind of request and the streams whose rows travel in it. */
export type KindStreams = { kind: string; streams: readonly string[] }

/** Whether all rows of a kind were looked over in this run already. */
export async function wasSwept(db: Database, runId: number, kind: string): Promise<boolean> {
  const swept = await db
    .selectFrom('kind_sweep')
    .select('run_id')
    .where('run_id', '=', runId)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return swept !== undefined
}

/** Whether anything may be ready of a kind. */
export async function hasCandidates(trx: Transaction<Schema>, runId: number, kind: string): Promise<boolean> {
  const candidate = await trx
    .selectFrom('candidate')
    .select('partner_id')
    .where('run_id', '=', runId)
    .where('kind', '=', kind)
    .limit(1)
    .executeTakeFirst()
  return candidate !== undefined
}

/**
 * Looks over all rows of a kind, once in a set-based pass, and makes every property that may have rows ready a
 * candidate; what earlier cuts have found is forgotten. What follows in the run then costs as much as it plans, however
 * many rows wait, parked or refused.
 * @param sendable whether a row, called `row`, could go out as far as the row itself says.
 */
export async function sweepKind(
  trx: Transaction<Schema>,
  runId: number,
  { kind, streams }: KindStreams,
  requires: Requires,
  sendable: RawBuilder<boolean>,
): Promise<void> {
  await sql`delete from candidate where kind = ${kind}`.execute(trx)
  await sql`delete from candidate_row where kind = ${kind}`.execute(trx)
  await sql`
    delete from ended_submission using run
    where run.run_id = ended_submission.run_id and run.state <> 'running'`.execute(trx)
  await sql`
    insert into candidate (run_id, kind, partner_id)
    select ${runId}, ${kind}, row.partner_id
    from (
      select distinct row.stream, row.partner_id
      from ledger row
      where row.stream = any(${streams}::text[]) and ${sendable}
      -- These are asked once a property, not once a row.
      offset 0
    ) row
    where not ${isSuspended()} and not ${lacksRequirement(requires)}
    order by row.partner_id
    on conflict do nothing`.execute(trx)
  await sql`
    insert into kind_sweep (run_id, kind) values (${runId}, ${kind})
    on conflict (run_id, kind) do update set swept_at = clock_timestamp()`.execute(trx)
  await sql`analyze candidate`.execute(trx)
}

/**
 * Makes candidates of the properties whose rows were released since the planner looked last, because a submission
 * ended, and of other partner ids of the same company: for the kinds whose rows may have waited for what was accepted,
 * and for the same kind where something was left of a property. No row is read for it. Where other rows of a property
 * may be ready than cuts have found, what they found is forgotten.
 */
export async function considerEnded(
  trx: Transaction<Schema>,
  runId: number,
  kinds: readonly KindStreams[],
  requires: Requires,
): Promise<void> {
  await sql`
    with ended as (
      delete from ended_submission where run_id = ${runId} returning kind, partner_ids, unsettled_ids, again_ids
    ),
    next as (
      select kind, next from jsonb_to_recordset(${JSON.stringify(kindsAfter(kinds, requires))}::jsonb)
        as _(kind text, next text)
    ),
    unknown as (
      select next.next as kind, unnest(partner_ids) as partner_id from ended join next using (kind)
      union
      select kind, unnest(again_ids) from ended
    ),
    released as (
      select kind, partner_id from unknown
      union
      select kind, unnest(unsettled_ids) from ended
    ),
    concerned as (
      select kind, partner_id from released
      union
      select kind, twin.partner_id
      from released join mapping using (partner_id) join mapping twin on twin.company_id = mapping.company_id
    ),
    forgotten as (
      delete from candidate_row where ctid = any(array(select place from ${keptOf(runId, sql`unknown`)}))
    ),
    reset as (
      update candidate set partition = null
      where ctid = any(array(
        select place from unknown cross join lateral (
          select ctid as place from candidate
          where run_id = ${runId} and kind = unknown.kind and partner_id = unknown.partner_id and partition is not null
          offset 0) known))
    )
    insert into candidate (run_id, kind, partner_id)
    select ${runId}::bigint, kind, partner_id from concerned
    order by kind, partner_id
    on conflict do nothing`.execute(trx)
}

/**
 * The places of all rows that cuts have kept of properties in the table `of`, each with its kind, one property after
 * the other: joined, all that is kept could be read for a few.
 */
export function keptOf(runId: number, of: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${of} of_property cross join lateral (
    select ctid as place from candidate_row
    where run_id = ${runId} and kind = of_property.kind and partner_id = of_property.partner_id
    offset 0) kept`
}

/** Which kinds carry rows that require rows of a kind: each pair once. Pure. */
function kindsAfter(kinds: readonly KindStreams[], requires: Requires): { kind: string; next: string }[] {
  return kinds.flatMap(({ kind, streams }) =>
    kinds
      .filter((after) =>
        after.streams.some((stream) => requires[stream]?.some((required) => streams.includes(required))),
      )
      .map((after) => ({ kind, next: after.kind })),
  )
}

/**
 * How many submissions of a kind carry rows in a run: planned, in flight, or ended and not yet settled. Those that are
 * overdue take no other's place: a few of them would keep a kind from being sent for ever.
 */
export async function unfinishedOfKind(db: Database, runId: number, kind: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from submission
    where run_id = ${runId} and kind = ${kind}
      and ${isUnfinished} and overdue_since is null`.execute(db)
  return rows[0]?.count ?? 0
}
