import { type Kysely, sql } from 'kysely'

/** Rows of the partner that contradict each other: what the ledger row says of them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // What contradicts itself must never be sent: whoever forgets the reason when a row is judged again fails here.
  await sql`
    alter table source_row
      add column contradiction text,
      add constraint source_row_contradiction check (contradiction is null or invalid_reason is not null)`.execute(db)
}
