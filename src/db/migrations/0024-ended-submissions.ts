import { type Kysely, sql } from 'kysely'

/**
 * What the planner asks of every property, whether something of it is in flight, is answered by `held_row` alone; and
 * the properties of submissions that have ended are kept for it when their rows are released, so that it need not look
 * at each row again for whose it was.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // A backup may have left out what waits.
  const { rows } = await sql<{ name: string }>`
    select current_schema() as name
    union all
    select schema_name from destination
    where to_regclass(quote_ident(schema_name) || '.held_row') is not null`.execute(db)
  for (const { name } of rows) {
    await nameStreams(db, name)
    await askForHolds(db, name)
  }
  await sql`create table ended_submission (run_id bigint not null, partner_ids text[] not null)`.execute(db)
  await sql`
    insert into ended_submission (run_id, partner_ids)
    select submission.run_id, array_agg(distinct source_row.partner_id)
    from submission
    join run using (run_id)
    join submission_row using (submission_id)
    join source_row using (row_id)
    where run.state = 'running' and not submission.considered
      and submission.state not in ('planned', 'sending', 'accepted', 'terminal', 'uncertain')
    group by submission_id`.execute(db)
  await sql`create index ended_submission_run on ended_submission (run_id)`.execute(db)
  await sql`drop index submission_unconsidered`.execute(db)
  await sql`alter table submission drop column considered`.execute(db)
  await sql`comment on table ended_submission is
    'Properties whose rows a submission released since the planner looked last: something of them may be ready now'`.execute(
    db,
  )
}

async function nameStreams(db: Kysely<unknown>, schema: string): Promise<void> {
  const held = sql.id(schema, 'held_row')
  await sql`alter table ${held} add column stream text`.execute(db)
  await sql`update ${held} held set stream = source_row.stream from source_row where source_row.row_id = held.row_id`.execute(
    db,
  )
  await sql`alter table ${held} alter column stream set not null`.execute(db)
  await sql`drop index ${sql.id(schema, 'held_row_partner')}`.execute(db)
  await sql`create index held_row_partner on ${held} (partner_id, stream)`.execute(db)
}

/**
 * A hold is looked up by its row, not joined: at the end of a night nothing is held, and a planner that has seen that
 * takes the table for empty until it is told otherwise. A join of it would read all holds of the next night for each
 * row.
 */
async function askForHolds(db: Kysely<unknown>, schema: string): Promise<void> {
  const [held, acceptance, ledger] = ['held_row', 'acceptance', 'ledger'].map((name) => sql.id(schema, name))
  await sql`
    create or replace view ${ledger} as
    select s.row_id, s.stream, s.partner_id, s.row_key, s.content, s.desired_hash, s.contradiction, s.gone_at,
           s.guard_run, s.guard_change, s.first_seen_at, s.changed_at,
           a.accepted_hash is distinct from a.wanted_hash as pending,
           a.checked_hash = a.wanted_hash as judged, a.checked_hash is distinct from a.wanted_hash as unjudged,
           a.accepted_hash, a.refused_hash, a.checked_hash, a.judged_by, a.invalid_reason,
           (select h.submission_id from ${held} h where h.row_id = s.row_id) as held_by,
           a.outcome, a.outcome_code, a.outcome_reason, a.outcome_submission, a.outcome_at, a.accepted_at,
           a.retry_action, a.resent_hash, a.resent_count
    from source_row s join ${acceptance} a using (row_id)`.execute(db)
}
