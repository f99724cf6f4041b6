import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { WarningKind } from '../../db/tables/planning-tables.ts'

/** Rows with one kind of warning, and a few of their partner ids. */
export type FoundWarnings = { kind: WarningKind; rows: number; examples: string[] }

/** What looks wrong and was found since a moment. */
export async function warningsSince(db: Database, since: Date): Promise<FoundWarnings[]> {
  const { rows } = await sql<FoundWarnings>`
    select kind, count(*) as rows, (array_agg(partner_id order by row_id))[1:3] as examples
    from row_finding join source_row using (row_id)
    where kind in ('partner_ids_alike', 'coordinates_zero', 'field_type_unseen')
      and found_at >= ${since} and gone_at is null
    group by kind
    order by kind`.execute(db)
  return rows
}

/** Companies for which a mapping of the run made a second partner id confirmed; a few of them. */
export async function companiesConfirmedTwice(
  db: Database,
  runId: number,
): Promise<{ company_id: string; partner_ids: string[] }[]> {
  const { rows } = await sql<{ company_id: string; partner_ids: string[] }>`
    select company_id, array_agg(distinct two.partner_id) as partner_ids
    from submission
    join mapping one using (submission_id)
    join mapping two using (company_id)
    where submission.run_id = ${runId} and submission.kind = 'company_mappings'
    group by company_id
    having count(distinct two.partner_id) > 1
    order by company_id
    limit 5`.execute(db)
  return rows
}
