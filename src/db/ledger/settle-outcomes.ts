import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import type { OutcomeName } from '../tables/row-tables.ts'
import { cutText } from './shown-texts.ts'

/**
 * What became of a row in a request: what its own line says, else what the request says of all others (`settleRows`).
 * @param line what the query calls the line of `submission_row`.
 * @param request what it calls the submission.
 */
export const outcomeTold = (line: string, request: string): RawBuilder<OutcomeName | null> =>
  sql<OutcomeName | null>`coalesce(${sql.ref(`${line}.outcome`)}, ${sql.ref(`${request}.rest_outcome`)})`

/** The code that goes with it. */
export const codeTold = (line: string, request: string): RawBuilder<string | null> =>
  sql<string | null>`case when ${sql.ref(`${line}.outcome`)} is null then ${sql.ref(`${request}.rest_code`)}
    else ${sql.ref(`${line}.code`)} end`

/** What became of a row, in words for people where there is something to say. */
export type RowOutcome =
  | { outcome: 'confirmed' | 'inferred' }
  | {
      outcome: 'rejected' | 'unknown'
      code: string
      reason: string
    }

/** Of a row that was rejected because its request failed as a whole, with it alone. */
export const aloneCode = 'task_error_alone'

/**
 * Characters of a code that are kept. What a service gives as its code may be a sentence: an index of rejected rows
 * takes some 2,700 bytes. Too few make one code of several.
 */
const longestCode = 200

/** A code that is cut is told in full by the reason. */
function withShortCode(said: RowOutcome): RowOutcome {
  if (!('code' in said) || said.code.length <= longestCode) return said
  const { outcome, code, reason } = said
  return {
    outcome,
    code: code.slice(0, longestCode).toWellFormed(),
    reason: reason === code ? reason : `${code}: ${reason}`,
  }
}

/**
 * Characters of a reason that are kept with each row. What a service says of one may be as long as an answer, and lists
 * and reports hold many; a task is kept with all that it says, and of a result file this is what is left. Fewer would
 * cut what people read, such as all options that a field has.
 */
const longestReason = 10_000

function withShortReason(said: RowOutcome): RowOutcome {
  if (!('reason' in said) || said.reason.length <= longestReason) return said
  return { ...said, reason: `${said.reason.slice(0, longestReason).toWellFormed()} …` }
}

/** The same of the rows that have an outcome of their own. */
async function shorten(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update verdict set code = left(code, ${longestCode}), reason = concat_ws(': ', code, nullif(reason, code))
    where length(code) > ${longestCode}`.execute(trx)
  await sql`
    update verdict set reason = ${cutText(sql`reason`, longestReason)}
    where length(reason) > ${longestReason}`.execute(trx)
}

/** Of rows whose property the service names with another company than its mapping does. */
export const inOtherCompany = { code: 'result_other_company' } as const

/**
 * Whether the service may hold what a submission says was rejected, as far as that stays known: the request was sent
 * more than once, and an attempt before the one that tells may have been taken; or it failed over the row alone, which
 * shows of nothing that it was left out.
 * @param code of the rejection.
 * @param repeats of the submission; null: nobody knows any more.
 */
export function isDoubtfulRejection(code: RawBuilder<unknown>, repeats: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${repeats} > 0 or ${code} = ${aloneCode}, false)`
}

/**
 * Carries the outcomes of a submission's rows into the ledger and releases the rows, in one pass. What most rows share
 * is kept with the submission, and only of the others with each.
 *
 * `accepted_hash` becomes what was sent, not what is wanted by now: a row that changed in flight stays pending. When
 * nobody knows whether new content was taken, nothing is accepted any more: a row that has changed back to what was
 * accepted before must be sent again all the same. So it is after a rejection that may be that of another row, and
 * after any of a request that was sent more than once: an attempt before the one that tells may have been taken. Each
 * of these is kept with the row as `perhaps_taken_at`, until the row is accepted: a later rejection takes none back.
 * @param keepOut whether rejected content waits until it changes; false where the request as a whole was refused,
 *   which may be fixed without the rows changing.
 * @param decide writes the outcomes of rows in `carried_row` into the temporary table `verdict`, and returns that of
 *   all others.
 */
export async function settleRows(
  trx: Transaction<Schema>,
  submissionId: number,
  keepOut: boolean,
  decide: () => Promise<RowOutcome>,
): Promise<void> {
  // What was sent is read after it: a mapping that moves hotels denies what is in flight of them (`lockSettlements`).
  await sql`lock table held_property in row exclusive mode`.execute(trx)
  await withCarriedRows(trx, submissionId, async () => {
    await createVerdicts(trx)
    const rest = withShortReason(withShortCode(await decide()))
    await shorten(trx)
    const { code, reason } = 'code' in rest ? rest : { code: null, reason: null }
    const codeOfRow = sql`case when verdict.row_id is null then ${code} else verdict.code end`
    const repeats = sql`(select repeats from submission where submission_id = ${submissionId})`
    await sql`
      update submission set rest_outcome = ${rest.outcome}, rest_code = ${code}, rest_reason = ${reason}
      where submission_id = ${submissionId}`.execute(trx)
    // Joined by the whole of the key: by the submission alone, each verdict could read all of its rows.
    await sql`
      update submission_row kept
      set outcome = said.outcome, code = said.code, reason = said.reason
      from (select ${submissionId}::bigint as submission_id, verdict.* from verdict offset 0) said
      where kept.submission_id = said.submission_id and kept.row_id = said.row_id`.execute(trx)
    await sql`
      with sent as materialized (
        select row_id, sent_hash, coalesce(verdict.outcome, ${rest.outcome}) as outcome,
               ${codeOfRow} as code,
               case when verdict.row_id is null then ${reason} else verdict.reason end as reason,
               coalesce(verdict.may_be_taken, false) or ${isDoubtfulRejection(codeOfRow, repeats)} as may_be_taken
        from carried_row left join verdict using (row_id)
        -- What a person gave up, or a later run took over, is not in flight any more.
        where exists (
          select from held_property where partner_id = any(${carriedProperties}) and submission_id = ${submissionId})
      ),
      settled as (
        update acceptance took
        set accepted_hash = case when sent.outcome in ('confirmed', 'inferred') then sent.sent_hash
                                 when (sent.outcome = 'unknown' or sent.may_be_taken)
                                   and sent.sent_hash <> took.accepted_hash then null
                                 else took.accepted_hash end,
            accepted_at = case when sent.outcome in ('confirmed', 'inferred') then clock_timestamp()
              else took.accepted_at end,
            perhaps_taken_at = case when sent.outcome in ('confirmed', 'inferred') then null
                                    when sent.outcome = 'unknown' or sent.may_be_taken then clock_timestamp()
                                    else took.perhaps_taken_at end,
            -- Other content was kept out by a verdict that is not the last any more: should it come back, it is sent.
            refused_hash = case when sent.outcome = 'rejected' and ${keepOut} then sent.sent_hash end,
            outcome = sent.outcome,
            outcome_code = sent.code,
            outcome_reason = sent.reason,
            outcome_submission = ${submissionId},
            outcome_at = clock_timestamp()
        from sent
        -- By their keys: joined alone, the planner may read all that lies between them.
        where took.row_id = sent.row_id and took.row_id = any(array(select row_id from carried_row))
        returning took.partner_id, took.accepted_hash is distinct from took.wanted_hash as pending,
                  sent.sent_hash is distinct from took.wanted_hash as changed
      ),
      ${released(submissionId, carriedProperties, {
        pending: sql`select partner_id from settled where pending`,
        // As it was sent, the run sends none of it again, but what was too large.
        again: sql`select partner_id from settled
          where pending and (changed or (select too_large from submission where submission_id = ${submissionId}))`,
      })}
      select from released limit 1`.execute(trx)
    await sql`drop table verdict`.execute(trx)
  })
}

/**
 * Finds out what `settleRows` would be told of a submission's rows, and settles none.
 * @param decide as `settleRows` has it.
 */
export async function withVerdicts<T>(
  trx: Transaction<Schema>,
  submissionId: number,
  decide: () => Promise<T>,
): Promise<T> {
  return await withCarriedRows(trx, submissionId, async () => {
    await createVerdicts(trx)
    const decided = await decide()
    await sql`drop table verdict`.execute(trx)
    return decided
  })
}

async function createVerdicts(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table verdict (
      row_id bigint, outcome text, code text, reason text, may_be_taken boolean not null default false)
    on commit drop`.execute(trx)
}

/** Releases the rows of a submission of which nothing has left: what is known of them stays as it is. */
export async function releaseUnsent(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  const properties = sql`
    array(select distinct partner_id from submission_row join acceptance using (row_id)
      where submission_id = ${submissionId})`
  const all = sql`select partner_id from released`
  await sql`with ${released(submissionId, properties, { pending: all, again: all })} select from released limit 1`.execute(
    trx,
  )
}

const carriedProperties = sql`array(select distinct partner_id from carried_row)`

/**
 * The properties that were in flight with the submission, and are not any longer; they are told to the planner. They
 * are found by their own keys: the planner may take the table for as empty as it is between two nights, and would read
 * all of it for any other.
 * @param properties those that the submission carries, as an array.
 * @param pending those of which something is to be sent that the submission carried; `again`: by this run already.
 */
const released = (
  submissionId: number,
  properties: RawBuilder<unknown>,
  { pending, again }: { pending: RawBuilder<unknown>; again: RawBuilder<unknown> },
) => sql`
  released as (
    delete from held_property
    where partner_id = any(${properties}) and submission_id = ${submissionId}
    returning partner_id, more
  ),
  ended as (
    insert into ended_submission (run_id, kind, partner_ids, unsettled_ids, again_ids)
    select run_id, kind, array(select distinct partner_id from released),
           array(select partner_id from released where more union ${pending}),
           array(select distinct partner_id from (${again}) again)
    from submission
    where submission_id = ${submissionId} and exists (select from released)
  )`

/**
 * Does something with the rows of a submission gathered in the temporary table `carried_row`, which the planner knows:
 * each with the property that it belongs to. Under the submission's lock nobody else changes that.
 *
 * Statistics of `submission_row` are older than the submission: the planner takes its rows for one, and a join that it
 * then nests reads all of them again for each. So they are gathered by their keys, one after the other.
 */
export async function withCarriedRows<T>(
  trx: Transaction<Schema>,
  submissionId: number,
  work: () => Promise<T>,
): Promise<T> {
  await sql`
    create temp table carried_row on commit drop as
    select sent.row_id, sent.sent_hash, took.partner_id
    from submission_row sent join acceptance took using (row_id)
    where sent.submission_id = ${submissionId}`.execute(trx)
  await sql`analyze carried_row (row_id, partner_id)`.execute(trx)
  const done = await work()
  await sql`drop table carried_row`.execute(trx)
  return done
}
