import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/schema.ts'
import { lacksRequirement, type Requires } from './requirement.ts'

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

/** Whether the planner has begun in this run: what the partner has was read by then, and judged. */
export async function hasBegunPlanning(db: Database, runId: number): Promise<boolean> {
  const swept = await db.selectFrom('kind_sweep').select('run_id').where('run_id', '=', runId).executeTakeFirst()
  return swept !== undefined
}

/**
 * Looks over all rows of a kind, once in a set-based pass, and makes every property that may have rows ready a
 * candidate. What follows in the run then costs as much as it plans, however many rows wait, parked or refused.
 * @param sendable whether a row, called `row`, could go out as far as the row itself says.
 */
export async function sweepKind(
  trx: Transaction<Schema>,
  runId: number,
  { kind, streams }: KindStreams,
  requires: Requires,
  sendable: RawBuilder<boolean>,
): Promise<void> {
  await sql`delete from candidate where kind = ${kind} and run_id <> ${runId}`.execute(trx)
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
      -- The requirement is asked once a property, not once a row.
      offset 0
    ) row
    where not ${lacksRequirement(requires)}
    order by row.partner_id
    on conflict do nothing`.execute(trx)
  await sql`
    insert into kind_sweep (run_id, kind) values (${runId}, ${kind})
    on conflict (run_id, kind) do update set swept_at = clock_timestamp()`.execute(trx)
  await sql`analyze candidate`.execute(trx)
}

/**
 * Makes candidates of the properties whose rows were released since the planner looked last, because a submission ended,
 * for every kind with something pending of them: rows that waited for what was accepted, rows of the kind that were
 * left for later, and rows of other partner ids of the same company.
 */
export async function considerEnded(
  trx: Transaction<Schema>,
  runId: number,
  kinds: readonly KindStreams[],
): Promise<void> {
  await sql`
    with ended as (
      delete from ended_submission where run_id = ${runId} returning partner_ids
    ),
    released as (select distinct unnest(partner_ids) as partner_id from ended),
    concerned as (
      select partner_id from released
      union
      select twin.partner_id
      from released join mapping using (partner_id) join mapping twin on twin.company_id = mapping.company_id
    ),
    -- Once a property, not once a kind: what is pending of it is read from the beginning each time.
    waiting as (
      select distinct concerned.partner_id, row.stream
      from concerned
      -- By the property and then by the row, whatever the planner knows of the tables.
      cross join lateral (
        select row_id from acceptance
        where acceptance.partner_id = concerned.partner_id and accepted_hash is distinct from wanted_hash
          and invalid_reason is null
        except
        select row_id from held_row where held_row.partner_id = concerned.partner_id
        offset 0) took
      cross join lateral (
        select stream from source_row
        where source_row.row_id = took.row_id and gone_at is null and guard_run is null
        offset 0) row
    )
    insert into candidate (run_id, kind, partner_id)
    select distinct ${runId}::bigint, planned.kind, waiting.partner_id
    from waiting
    join jsonb_to_recordset(${JSON.stringify(kinds)}::jsonb) as planned(kind text, streams text[])
      on waiting.stream = any(planned.streams)
    order by 2, 3
    on conflict do nothing`.execute(trx)
}
