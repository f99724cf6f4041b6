import { type Kysely, sql } from 'kysely'

/**
 * Rows of the partner that contradict each other: what the ledger row says of them. New rows without needless triggers.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // What contradicts itself must never be sent: code that forgets the reason when a row is judged again fails here.
  await sql`
    alter table source_row
      add column contradiction text,
      add constraint source_row_contradiction check (contradiction is null or invalid_reason is not null)`.execute(db)
  // Each foreign key is a trigger for every new row, null or not: four took a fifth of a first extraction. What these
  // three point to is written before them in their own transaction, and never deleted. `held_by` keeps its own, for
  // whether a row is in flight hangs on it.
  await sql`
    alter table source_row
      drop constraint source_row_outcome_submission_fkey,
      drop constraint source_row_guard_run_fkey,
      drop constraint source_row_retry_action_fkey`.execute(db)
}
