import { type Kysely, sql } from 'kysely'

/**
 * What the service has of us and the ledger does not know; and the newest request of each search, however many runs
 * without it came afterwards.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run add column unknown_tasks jsonb`.execute(db)
  await sql`comment on column run.unknown_tasks is
    'Imports of our key that the service listed as the run began, later than all that the ledger had sent: count, and correlation_id and created_at of the newest; null where there were none'`.execute(
    db,
  )
  await sql`create index submission_kind on submission (kind, partition, submission_id)`.execute(db)
}
