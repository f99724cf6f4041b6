import { sql, type Transaction } from 'kysely'
import { isSince } from '../../db/ledger/row-standing.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { RowComparison } from '../../db/tables/difference-tables.ts'

/** Whether what is accepted of `row` was accepted after `last`, the comparison before. */
export const acceptedSinceLast = isSince(
  sql`row.accepted_at`,
  sql`row.outcome_submission`,
  sql`last.compared_at`,
  sql`last.submission_id`,
)

export type FoundDifference = {
  row_id: number
  kind: 'absent' | 'different'
  company_id: string
  sent: string
  stored: string | null
  cause: 'company_not_returned' | 'value_not_returned' | null
  changed_there_at: string | null
}

/** Makes the temporary tables in which findings, and rows that were not judged, wait until a comparison is whole. */
export async function createFindings(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table finding (
      row_id bigint not null, kind text not null, company_id uuid not null, sent text not null, stored text, cause text,
      changed_there_at timestamptz
    ) on commit drop`.execute(trx)
  await sql`create temp table unjudged_row (row_id bigint not null) on commit drop`.execute(trx)
}

export async function stageFindings(trx: Transaction<Schema>, findings: readonly FoundDifference[]): Promise<void> {
  if (findings.length === 0) return
  await sql`
    insert into finding
    select * from jsonb_to_recordset(${JSON.stringify(findings)}::jsonb) as _(
      row_id bigint, kind text, company_id uuid, sent text, stored text, cause text,
        changed_there_at timestamptz)`.execute(trx)
}

/** Notes rows of which the comparison says nothing, so that what was found of them before stays. */
export async function stageUnjudged(trx: Transaction<Schema>, rowIds: readonly number[]): Promise<void> {
  if (rowIds.length === 0) return
  await sql`insert into unjudged_row select unnest(${rowIds}::bigint[])`.execute(trx)
}

/** Forgets what was staged: the comparison turned out to be none. */
export async function dropFindings(trx: Transaction<Schema>): Promise<void> {
  await sql`drop table finding, unjudged_row`.execute(trx)
}

/**
 * Makes the differences of a kind those that were found. One that stands as it was found before keeps its run, and
 * whether it was sent again over it. One whose row was not judged stays, marked as such, unless the row was accepted
 * since the comparison before.
 * @returns how many are new.
 */
export async function storeFindings(trx: Transaction<Schema>, comparison: string, runId: number): Promise<number> {
  await sql`analyze finding, unjudged_row`.execute(trx)
  await sql`
    delete from row_difference
    where comparison = ${comparison}
      and not exists (select from finding where finding.row_id = row_difference.row_id)
      and not exists (
        select from unjudged_row
        join acceptance row using (row_id)
        left join (
          select compared_at, submission_id from row_comparison
          where kind = ${comparison} and withheld is null order by run_id desc limit 1
        ) last on true
        where unjudged_row.row_id = row_difference.row_id and not ${acceptedSinceLast})`.execute(trx)
  await sql`
    update row_difference set unjudged = true
    where comparison = ${comparison} and not unjudged
      and not exists (select from finding where finding.row_id = row_difference.row_id)`.execute(trx)
  await sql`
    insert into row_difference as known
      (row_id, comparison, kind, company_id, sent, stored, cause, changed_there_at, found_by_run)
    select row_id, ${comparison}, kind, company_id, sent, stored, cause, changed_there_at, ${runId} from finding
    on conflict (row_id) do update
    set kind = excluded.kind, company_id = excluded.company_id, sent = excluded.sent, stored = excluded.stored,
        cause = excluded.cause, changed_there_at = excluded.changed_there_at,
        found_by_run = case when known.kind = excluded.kind then known.found_by_run else excluded.found_by_run end,
        found_at = case when known.kind = excluded.kind then known.found_at else excluded.found_at end,
        resent_by_run = case when known.kind = excluded.kind then known.resent_by_run end,
        unjudged = false`.execute(trx)
  const { rows } = await sql<{ fresh: number }>`
    select count(*) as fresh from row_difference where comparison = ${comparison} and found_by_run = ${runId}`.execute(
    trx,
  )
  await dropFindings(trx)
  return rows[0]?.fresh ?? 0
}

/** Notes what a comparison of a run came to, or why there was none. */
export async function noteComparison(
  trx: Transaction<Schema>,
  comparison: Omit<RowComparison, 'compared_at'>,
): Promise<void> {
  await trx
    .insertInto('row_comparison')
    .values(comparison)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
