import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'

/** Whether rows that no error names are taken for accepted, and what is said of them if not. */
export type Unnamed = { outcome: 'inferred' } | { outcome: 'unknown'; code: string; reason: string }

/** An error row of a task, with the month as a number. */
export type NamedError = {
  company_id: string | null
  partner_id: string | null
  data_point_id: string | null
  question_id: string | null
  period_type: string | null
  year: number | null
  month: number | null
  code: string | null
  reason: string | null
}

/** An error that matches no row may mean any of them, so none of those that are left can be taken for accepted. */
const unmatchedErrors: Unnamed = {
  outcome: 'unknown',
  code: 'unmatched_errors',
  reason: 'the task names errors that match no row of the request, so this row may be meant',
}

/** Outcomes from the staged result file: what it names is confirmed or rejected, what it does not name is unknown. */
export async function outcomesFromResultFile(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with named as (
      select partner_id,
             case when bool_or(not accepted) then false when bool_or(accepted is null) then null else true end as accepted,
             min(code) as code, string_agg(distinct reason, '; ') as reason
      from staged_outcome
      where submission_id = ${submissionId}
      group by partner_id
    )
    update submission_row
    set outcome = case when named.accepted then 'confirmed'
                       when named.accepted = false then 'rejected'
                       else 'unknown' end,
        code = case when named.partner_id is null then 'not_in_result' else named.code end,
        reason = case when named.partner_id is null then 'the result file does not name this property' else named.reason end
    from source_row
    left join named on named.partner_id = source_row.partner_id
    where submission_row.submission_id = ${submissionId}
      and source_row.row_id = submission_row.row_id`.execute(trx)
}

/**
 * Outcomes from the rows that the task's error names. An error matches every row that it does not tell apart: by the
 * partner's id or the company, then by data point, question and period as far as it names them.
 *
 * @returns the errors that match none of the submission's rows.
 */
export async function outcomesFromErrors(
  trx: Transaction<Schema>,
  submissionId: number,
  errors: readonly NamedError[],
  unnamed: Unnamed,
): Promise<NamedError[]> {
  await sql`
    create temp table named_error on commit drop as
    select row_number() over () as ordinal, *
    from jsonb_to_recordset(${JSON.stringify(errors)}::jsonb) as _(
      company_id text, partner_id text, data_point_id text, question_id text,
      period_type text, year bigint, month integer, code text, reason text)`.execute(trx)
  await sql`
    create temp table matched_error on commit drop as
    select named.ordinal, row.row_id, named.code, named.reason
    from named_error named
    left join mapping on named.partner_id is null and mapping.company_id::text = lower(named.company_id)
    join source_row row on row.held_by = ${submissionId}
      and row.partner_id = coalesce(named.partner_id, mapping.partner_id)
    where (named.data_point_id is null or lower(row.content ->> 'data_point_id') = lower(named.data_point_id))
      and (named.question_id is null or lower(row.content ->> 'question_id') = lower(named.question_id))
      and (named.period_type is null or row.content ->> 'period_type' = named.period_type)
      and (named.year is null or row.content ->> 'year' = named.year::text)
      and (named.month is null or row.content ->> 'month' = named.month::text)`.execute(trx)
  const { rows: unmatched } = await sql<NamedError>`
    select company_id, partner_id, data_point_id, question_id, period_type, year, month, code, reason
    from named_error
    where not exists (select from matched_error where matched_error.ordinal = named_error.ordinal)
    order by ordinal`.execute(trx)
  const rest = unmatched.length === 0 || unnamed.outcome === 'unknown' ? unnamed : unmatchedErrors
  await sql`
    update submission_row
    set outcome = case when named.row_id is not null then 'rejected' else ${rest.outcome} end,
        code = case when named.row_id is not null then named.code
                    else ${rest.outcome === 'unknown' ? rest.code : null}::text end,
        reason = case when named.row_id is not null then named.reason
                      else ${rest.outcome === 'unknown' ? rest.reason : null}::text end
    from submission_row sent
    left join (
      select row_id, min(code) as code, string_agg(distinct reason, '; ') as reason from matched_error group by row_id
    ) named on named.row_id = sent.row_id
    where submission_row.submission_id = ${submissionId}
      and sent.submission_id = ${submissionId}
      and sent.row_id = submission_row.row_id`.execute(trx)
  await sql`drop table named_error, matched_error`.execute(trx)
  return unmatched
}

/** One outcome for every row of the submission. */
export async function sameOutcome(
  trx: Transaction<Schema>,
  submissionId: number,
  outcome: 'rejected' | 'unknown',
  code: string,
  reason: string,
): Promise<void> {
  await trx
    .updateTable('submission_row')
    .set({ outcome, code, reason })
    .where('submission_id', '=', submissionId)
    .execute()
}

/**
 * Carries the outcomes of a submission's rows into the ledger and releases the rows.
 *
 * `accepted_hash` becomes what was sent, not what is wanted by now: a row that changed in flight stays pending.
 * When nobody knows whether new content was taken, nothing is accepted any more: a row that has changed back to what
 * was accepted before must be sent again all the same.
 * @param keepOut whether rejected content waits until it changes; false where the request as a whole was refused,
 *   which may be mended without the rows changing.
 */
export async function applyOutcomes(trx: Transaction<Schema>, submissionId: number, keepOut: boolean): Promise<void> {
  await sql`
    update source_row
    set accepted_hash = case when sent.outcome in ('confirmed', 'inferred') then sent.sent_hash
                             when sent.outcome = 'unknown' and sent.sent_hash <> accepted_hash then null
                             else accepted_hash end,
        accepted_at = case when sent.outcome in ('confirmed', 'inferred') then clock_timestamp() else accepted_at end,
        refused_hash = case when sent.outcome = 'rejected' and ${keepOut} then sent.sent_hash
                            when sent.outcome in ('confirmed', 'inferred') then null
                            else refused_hash end,
        outcome = sent.outcome,
        outcome_code = sent.code,
        outcome_reason = sent.reason,
        outcome_submission = ${submissionId},
        outcome_at = clock_timestamp(),
        held_by = null
    from submission_row sent
    where sent.submission_id = ${submissionId}
      and source_row.row_id = sent.row_id
      and source_row.held_by = ${submissionId}`.execute(trx)
}

/** Releases the rows of a submission of which nothing has left: what is known of them stays as it is. */
export async function releaseUnsent(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await trx.updateTable('source_row').set({ held_by: null }).where('held_by', '=', submissionId).execute()
}

/** Stores which company each confirmed property stands for. */
export async function storeMappings(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into mapping as held (partner_id, company_id, submission_id)
    select distinct on (partner_id) partner_id, staged.company_id::uuid, staged.submission_id
    from staged_outcome staged
    join source_row using (partner_id)
    join submission_row sent using (submission_id, row_id)
    where staged.submission_id = ${submissionId} and sent.outcome = 'confirmed'
      and staged.accepted and staged.company_id is not null
    order by partner_id
    on conflict (partner_id) do update
    set company_id = excluded.company_id, submission_id = excluded.submission_id, mapped_at = clock_timestamp()
    where held.company_id is distinct from excluded.company_id`.execute(trx)
}
