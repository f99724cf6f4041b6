import { type Kysely, sql } from 'kysely'
import type { Schema } from '../db/tables/database-schema.ts'

/** Events of one statement: others write to the table meanwhile. */
const atOnce = 5_000

/**
 * Removes events that had their effect and came longer ago than is wanted, and what was counted of refusals.
 * @param keep days; `applications` 0: for ever.
 * @returns how many events went.
 */
export async function forgetEvents(db: Kysely<Schema>, keep: { tasks: number; applications: number }): Promise<number> {
  let removed = 0
  for (let more = true; more; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from webhook_event where event_id in (
        select event_id from webhook_event
        where state = 'done' and first_at < clock_timestamp() - ${keep.tasks}::int * interval '1 day'
          and (effect <> 'kept' or (${keep.applications}::int > 0
            and first_at < clock_timestamp() - ${keep.applications}::int * interval '1 day'))
        order by first_at limit ${atOnce})`.execute(db)
    removed += Number(numAffectedRows)
    more = Number(numAffectedRows) === atOnce
  }
  await sql`delete from webhook_refusal where day < current_date - ${keep.tasks}::int`.execute(db)
  return removed
}
