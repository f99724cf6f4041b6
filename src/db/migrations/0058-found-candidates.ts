import { type Kysely, sql } from 'kysely'

/** What a cut has found of properties that it did not carry is kept for later cuts, which read only what they carry. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table candidate
      add column target text,
      add column partition text,
      add column rows bigint,
      add column others boolean`.execute(db)
  // No foreign keys on what is written and removed with every cut.
  await sql`
    create table candidate_row (
      run_id bigint not null,
      kind text not null,
      partner_id text not null,
      partition text not null,
      row_id bigint not null,
      primary key (run_id, kind, partner_id, partition, row_id)
    )`.execute(db)
  await sql`alter table ended_submission add column again_ids text[] not null default '{}'`.execute(db)
  await sql`comment on table candidate_row is
    'Rows that a cut found ready and did not carry, so that later cuts find them without reading the ledger again'`.execute(
    db,
  )
  await sql`comment on column candidate.partition is
    'What its next rows are kept apart by, which are in candidate_row; null: no cut has looked at the property'`.execute(
    db,
  )
  await sql`comment on column ended_submission.again_ids is
    'Those of which rows that it carried may go out in the same run'`.execute(db)
}
