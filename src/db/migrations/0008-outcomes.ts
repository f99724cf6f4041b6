import { type Kysely, sql } from 'kysely'

/** Requests that are split in halves, what policies send again, and what a lost answer's task list has shown. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table submission
      add column parent_id bigint references submission,
      add column root_id bigint references submission,
      add column depth integer not null default 0,
      add column unmatched_count bigint not null default 0,
      add column listed jsonb`.execute(db)
  await sql`update submission set unmatched_count = jsonb_array_length(unmatched) where unmatched is not null`.execute(
    db,
  )
  await sql`create index submission_root on submission (root_id) where root_id is not null`.execute(db)

  await sql`
    alter table source_row
      add column resent_hash bytea,
      add column resent_count integer not null default 0`.execute(db)
  // Content that is refused is rare, so a run that looks for what a policy sends again reads no more than that.
  await sql`create index source_row_refused on source_row (outcome_code) where refused_hash is not null`.execute(db)

  // What names no property is kept too. Staged rows do not outlive their settlement, so none is changed by this.
  await sql`alter table staged_outcome alter column partner_id drop not null`.execute(db)
  await sql`alter table staged_outcome add column field_errors jsonb`.execute(db)
}
