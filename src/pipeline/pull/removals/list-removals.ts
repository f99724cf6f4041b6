import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { RestoreFilter } from './restore-removed.ts'
import { ofPartner, ofRun } from './take-removals.ts'

/** What was removed, and can be brought back for as long as it is kept. */
type RemovedPart = {
  part: 'value' | 'property'
  company_id: string
  calculator_id: string | null
  direction: 'input' | 'output' | null
  variable_id: string | null
  property_id: string | null
  ordinal: number | null
  value: string
  removed_at: Date
  run_id: number | null
}

/** The last of a page: its moment as the database prints it, because no Date is as exact, and which one it is. */
type RemovalPlace = { at: string; part: string; removalId: number }

/**
 * What was removed, newest first, a page at a time: as the view `removals` shows it.
 * @param past where the page before ended; null: the first page.
 * @returns `next`: where this one ended; null if there is nothing further.
 */
export async function pageOfRemovals(
  db: Database,
  filter: RestoreFilter,
  limit: number,
  past: RemovalPlace | null,
): Promise<{ removals: RemovedPart[]; next: RemovalPlace | null }> {
  const { partnerId, runId, since } = filter
  const mine = sql`${ofPartner(partnerId)} and ${ofRun(runId)} and removed_at >= ${since ?? '-infinity'}::timestamptz`
  const further =
    past === null
      ? sql`true`
      : sql`(removed_at, part, removal_id) < (${past.at}::timestamptz, ${past.part}, ${past.removalId}::bigint)`
  const { rows } = await sql<RemovedPart & { exact: string; removal_id: number }>`
    with found as (
      select 'value' as part, removal_id, company_key, calculator_key, direction, variable_key,
        null::int as property_key,
             null::int as ordinal, value, removed_at, submission_id
      from removed_value where ${mine}
      union all
      select 'property', removal_id, company_key, null, null, null, property_key, ordinal, value, removed_at,
        submission_id
      from removed_property where ${mine}
    ), page as (
      select * from found where ${further} order by removed_at desc, part desc, removal_id desc limit ${limit}
    )
    select part, company.company_id, calculator.calculator_id,
           case page.direction when 'i' then 'input' when 'o' then 'output' end as direction,
           calculator_variable.variable_id, custom_property.property_id, page.ordinal, page.value, page.removed_at,
           submission.run_id, page.removed_at::text as exact, page.removal_id
    from page
    join company using (company_key)
    left join calculator on calculator.calculator_key = page.calculator_key
    left join calculator_variable on calculator_variable.variable_key = page.variable_key
    left join custom_property on custom_property.property_key = page.property_key
    left join submission using (submission_id)
    order by page.removed_at desc, part desc, page.removal_id desc`.execute(db)
  const last = rows.length < limit ? undefined : rows.at(-1)
  const removals = rows.map(({ exact: _, removal_id: __, ...row }) => row)
  return { removals, next: last === undefined ? null : place(last) }
}

function place({ exact, part, removal_id }: { exact: string; part: string; removal_id: number }): RemovalPlace {
  return { at: exact, part, removalId: removal_id }
}
