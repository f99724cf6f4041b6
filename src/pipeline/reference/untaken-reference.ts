import { sql, type Transaction } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { UntakenReference } from '../../db/tables/reference-tables.ts'

/** Notes that a fetch was not taken, and why. What a person accepted of the same kind before stays accepted. */
export async function noteUntakenReference(
  trx: Transaction<Schema>,
  { reason, at, runId }: { reason: string; at: Date; runId: number | null },
): Promise<void> {
  await sql`
    insert into reference_withheld as known (run_id, reason, first_seen_at, last_seen_at, times)
    values (${runId}, ${reason}, ${at}, ${at}, 1)
    on conflict (singleton) do update
    set run_id = excluded.run_id, reason = excluded.reason, last_seen_at = excluded.last_seen_at,
        first_seen_at = case when known.reason = excluded.reason then known.first_seen_at
          else excluded.first_seen_at end,
        times = case when known.reason = excluded.reason then known.times + 1 else 1 end,
        accepted_at = case when known.reason = excluded.reason then known.accepted_at end,
        accepted_by = case when known.reason = excluded.reason then known.accepted_by end`.execute(trx)
}

/** The fetch that was not taken, if the last one was not. */
export async function untakenReference(db: Database): Promise<UntakenReference | null> {
  return (await db.selectFrom('reference_withheld').selectAll().executeTakeFirst()) ?? null
}

/**
 * Says that what was not taken is right: the next fetch that comes to the same is taken.
 * @returns what was accepted, or null where everything was taken.
 */
export async function acceptUntaken(db: Database, at: Date, by: string): Promise<UntakenReference | null> {
  const accepted = await db
    .updateTable('reference_withheld')
    .set({ accepted_at: at, accepted_by: by })
    .returningAll()
    .executeTakeFirst()
  return accepted ?? null
}
