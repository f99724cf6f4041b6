import { type Kysely, type RawBuilder, sql } from 'kysely'

/**
 * Since when a row may have been taken that nobody saw accepted: what was sent of it later, and rejected, says nothing
 * about that. And which differences the newest comparison did not judge, so that nothing is sent over them. For the
 * destination in use, and for each that waits in a schema of its own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ destination: number; name: string; moves: boolean; drifts: boolean }>`
    select destination_id as destination, schemaname as name, exists (
             select from pg_tables moved
             where moved.schemaname = own.schemaname and tablename = 'mapping_change') as moves, exists (
             select from pg_views view where view.schemaname = own.schemaname and viewname = 'drift') as drifts
    from pg_tables own join destination on schemaname = coalesce(schema_name, current_schema())
    where tablename = 'acceptance'`.execute(db)
  for (const { destination, name, moves, drifts } of rows) {
    const moved = moves
      ? sql`${sql.id(name, 'mapping_change')}`
      : sql`(select null as partner_id, now() as changed_at limit 0)`
    await keepDoubt(db, name, destination, moved)
    await showDoubt(db, name)
    if (drifts) await listDoubted(db, name)
    for (const differences of ['row_difference', 'input_difference']) await keepUnjudged(db, name, differences)
  }
}

/**
 * Only what was sent to this destination tells of it, and since the hotel's mapping last moved: before, it went to
 * another company.
 */
async function keepDoubt(
  db: Kysely<unknown>,
  schema: string,
  destination: number,
  changes: RawBuilder<unknown>,
): Promise<void> {
  const acceptance = sql.id(schema, 'acceptance')
  await sql`alter table ${acceptance} add column perhaps_taken_at timestamptz`.execute(db)
  await sql`comment on column ${sql.id(schema, 'acceptance', 'perhaps_taken_at')} is
    'When a request last ended of which nobody knows whether the service took the row; null: none has since it was accepted'`.execute(
    db,
  )
  await sql`
    update ${acceptance} took
    set perhaps_taken_at = doubted.at
    from (
      select row_id, case
        when outcome = 'unknown' or outcome_code = 'task_error_alone' then coalesce(outcome_at, clock_timestamp())
        else (
          select max(coalesce(carrier.settled_at, clock_timestamp()))
          from submission_row carried join submission carrier using (submission_id) join run using (run_id)
          where carried.row_id = rejected.row_id and run.destination_id = ${destination}
            and (rejected.accepted_at is null or carrier.settled_at > rejected.accepted_at)
            and (carrier.kind = 'company_mappings' or not exists (
              select from ${changes} moved
              where moved.partner_id = rejected.partner_id and moved.changed_at >= carrier.settled_at))
            and (coalesce(carried.outcome, carrier.rest_outcome) = 'unknown'
              or coalesce(carried.outcome, carrier.rest_outcome) = 'rejected'
                and (carrier.repeats > 0
                  or case when carried.outcome is null then carrier.rest_code else carried.code end
                    = 'task_error_alone'))
        ) end as at
      from ${acceptance} rejected
      where outcome in ('rejected', 'unknown')
    ) doubted
    where doubted.row_id = took.row_id and doubted.at is not null`.execute(db)
}

/** A destination that waits since before its differences were kept has no table of them. */
async function keepUnjudged(db: Kysely<unknown>, ...table: [schema: string, name: string]): Promise<void> {
  await sql`
    alter table if exists ${sql.id(...table)} add column unjudged boolean not null default false`.execute(db)
}

async function showDoubt(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (...names: string[]) => sql.id(schema, ...names)
  await sql`
    create or replace view ${of('ledger')} as
    select s.row_id, s.stream, s.partner_id, s.row_key, s.content, s.desired_hash, s.contradiction, s.gone_at,
           s.guard_run, s.guard_change, s.first_seen_at, s.changed_at,
           a.accepted_hash is distinct from a.wanted_hash as pending,
           a.checked_hash = a.wanted_hash as judged, a.checked_hash is distinct from a.wanted_hash as unjudged,
           a.accepted_hash, a.refused_hash, a.checked_hash, a.judged_by, a.invalid_reason,
           (select h.submission_id from ${of('held_property')} h
            where h.partner_id = s.partner_id and h.stream = s.stream and exists (
              select from submission_row carried
              where carried.submission_id = h.submission_id and carried.row_id = s.row_id)) as held_by,
           a.outcome, a.outcome_code, a.outcome_reason, a.outcome_submission, a.outcome_at, a.accepted_at,
           a.retry_action, a.resent_hash, a.resent_count, a.perhaps_taken_at
    from source_row s join ${of('acceptance')} a using (row_id)`.execute(db)
  await sql`comment on column ${of('ledger', 'perhaps_taken_at')} is
    'When a request last ended of which nobody knows whether the service took the row; null: none has since it was accepted'`.execute(
    db,
  )
}

async function listDoubted(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (name: string) => sql.id(schema, name)
  await sql`
    create or replace view ${of('drift')} as
    select stream, partner_id, row_key, content, accepted_at, outcome, gone_at as gone_since, 'gone' as why,
           (select company_id from ${of('mapping')}
            where mapping.partner_id = ledger.partner_id) as company_id
    from ${of('ledger')}
    where gone_at is not null
      and (accepted_at is not null or perhaps_taken_at is not null or held_by is not null)
    union all
    select stream, partner_id, row_key, left_behind.content, left_behind.accepted_at, null, left_at, 'remapped',
           left_behind.company_id
    from ${of('left_behind')} join source_row using (row_id)
    -- What the old company was sent again since, because its hotel came back to it, is in its place.
    where not exists (
      select from ${of('mapping')} join ${of('acceptance')} using (partner_id)
      where mapping.company_id = left_behind.company_id and acceptance.row_id = left_behind.row_id
        and acceptance.accepted_hash is not null)`.execute(db)
}
