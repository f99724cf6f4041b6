import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import type { Requires } from './requirement.ts'

/**
 * Notes by which submissions of this run the rows of new ones, which `cut_property` counts, were released: what a row
 * requires was accepted by it. A row that required several counts for the one that was accepted last, so that no row
 * counts twice.
 */
export async function recordReleases(trx: Transaction<Schema>, runId: number, requires: Requires): Promise<void> {
  const pairs = Object.entries(requires).flatMap(([stream, names]) => names.map((required) => ({ stream, required })))
  if (pairs.length === 0) return
  await sql`
    insert into submission_release (submission_id, released_by, rows)
    select released.submission_id, last.submission_id, sum(released.rows)
    from cut_property released
    cross join lateral (
      select releasing.submission_id
      from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as requirement(stream text, required text)
      join ledger needed on needed.stream = requirement.required and needed.partner_id = released.partner_id
      join submission releasing on releasing.submission_id = needed.outcome_submission and releasing.run_id = ${runId}
      where requirement.stream = released.stream and needed.outcome in ('confirmed', 'inferred')
      order by needed.outcome_at desc
      limit 1
    ) last
    group by 1, 2`.execute(trx)
}
