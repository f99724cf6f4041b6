import { type Kysely, sql } from 'kysely'

/**
 * What a run no longer waits for, what the service refused over one of many rows, and how far its clock is from ours.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table submission
      add column overdue_since timestamptz,
      add column unknown_status text,
      add column refusal jsonb,
      add column skew_low_ms bigint,
      add column key_fingerprint text`.execute(db)
  await sql`
    comment on column submission.overdue_since is
      'Since when runs end without it: its task, or one that may be its, has not ended within exchange.taskPatienceMs'`.execute(
    db,
  )
  await sql`
    alter table service_key
      add column skew_low_ms bigint,
      add column skew_high_ms bigint,
      add column skew_at timestamptz,
      add column api_key_id text,
      add constraint service_key_skew_check
        check ((skew_low_ms is null) = (skew_at is null) and (skew_high_ms is null) = (skew_at is null))`.execute(db)
}
