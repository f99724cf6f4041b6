import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { Submission, SubmissionState } from '../tables/submission-tables.ts'
import type { Requires } from './requirements.ts'
import { lacksRequirement } from './row-state.ts'
import { withCarriedRows } from './settle-outcomes.ts'
import { isSuspended, keepSuspensions } from './suspended-hotels.ts'

/** A request of the family that a split request has: the first one and all that came of it. */
export type FamilyMember = {
  submission_id: number
  depth: number
  state: SubmissionState
  task_status: string | null
  error_code: string | null
  overdue_since: Date | null
  /** Whether the service refused it over what it carries (400, 403, 422), or its answers were lost often enough. */
  refused: boolean
}

/** The first request that a submission is a part of: itself where it is none. */
export function rootOf({ submission_id, root_id }: Pick<Submission, 'submission_id' | 'root_id'>): number {
  return root_id ?? submission_id
}

/** Every request that came of a first one, that one included, locked so that one settlement at a time judges them. */
export async function lockFamily(trx: Transaction<Schema>, rootId: number): Promise<FamilyMember[]> {
  await sql`select from submission where submission_id = ${rootId} for no key update`.execute(trx)
  const { rows } = await sql<FamilyMember>`
    select submission_id, depth, state, task_status, error_code, overdue_since, refusal is not null as refused
    from submission
    where submission_id = ${rootId} or root_id = ${rootId}
    order by submission_id`.execute(trx)
  return rows
}

/** Whether a request of this kind was split in a run, and refused in every part with this code: it is not the rows. */
export async function wasNotTheRows(
  trx: Transaction<Schema>,
  { run_id, kind }: Pick<Submission, 'run_id' | 'kind'>,
  code: string,
): Promise<boolean> {
  const { rows } = await sql`
    select from submission
    where run_id = ${run_id} and kind = ${kind} and state = 'refused'
      and refusal ->> 'verdict' = 'not_the_rows' and refusal ->> 'code' = ${code}
    limit 1`.execute(trx)
  return rows.length > 0
}

/** Of a submission and of its rows: the answers to its POST were lost however often it was sent. */
export const answersLostCode = 'answers_lost'

/**
 * Whether the service takes no request of a kind any more, whatever it carries: another one was given up in this run
 * because its answers and those of all its parts were lost, and none was accepted since a moment.
 */
export async function losesWhatever(
  db: Database,
  submission: Pick<Submission, 'run_id' | 'kind' | 'submission_id' | 'root_id'>,
  since: Date,
): Promise<boolean> {
  const { run_id, kind } = submission
  const { rows } = await sql`
    select from submission
    where run_id = ${run_id} and kind = ${kind} and refusal ->> 'code' = ${answersLostCode}
      and refusal ->> 'verdict' = 'not_the_rows'
      and coalesce(root_id, submission_id) <> ${rootOf(submission)}
      and not exists (
        select from submission taken
        where taken.run_id = ${run_id} and taken.kind = ${kind} and taken.accepted_at >= ${since})
    limit 1`.execute(db)
  return rows.length > 0
}

/**
 * Whether, of this kind in a run, a request whose task failed was split and failed in every part, and nothing that was
 * planned since has passed: it is not the rows.
 * @param passed the statuses of tasks that got through.
 */
export async function failsWhatever(
  trx: Transaction<Schema>,
  { run_id, kind }: Pick<Submission, 'run_id' | 'kind'>,
  passed: readonly string[],
): Promise<boolean> {
  const { rows } = await sql<{ fails: boolean | null }>`
    select max(submission_id) filter (
             where depth > 1 and state = 'settled' and rest_code = 'task_error'
               and rest_reason like ${`%${notTheRowsWords}`})
           > coalesce(max(submission_id) filter (where task_status = any(${passed}::text[])), 0) as fails
    from submission
    where run_id = ${run_id} and kind = ${kind}`.execute(trx)
  return rows[0]?.fails ?? false
}

/** How the reason ends that is kept of rows which failed with every part of their request. */
export const notTheRowsWords = 'so it is not the rows)'

/** The task of a submission as it came; null where it has not ended. Each may be as long as an answer may be. */
export async function taskOf(trx: Transaction<Schema>, submissionId: number): Promise<unknown> {
  const { task } = await trx
    .selectFrom('submission')
    .select('task')
    .where('submission_id', '=', submissionId)
    .executeTakeFirstOrThrow()
  return task
}

/** A row of a submission, and what it writes to: the company where the mapping says which, else the property. */
type RowToSplit = { row_id: number; target: string }

/**
 * The rows of a submission that its halves can carry, in the order in which they were sent. A row that has changed, or
 * that nothing may be sent of any more, is left to the planner.
 */
export async function rowsToSplit(
  trx: Transaction<Schema>,
  submissionId: number,
  requires: Requires,
): Promise<RowToSplit[]> {
  await keepSuspensions(trx)
  const remaining = sql<RowToSplit>`
    select row_id, coalesce(mapping.company_id::text, 'partner ' || row.partner_id) as target
    from carried_row sent
    join ledger row using (row_id)
    left join mapping on mapping.partner_id = row.partner_id
    where row.desired_hash = sent.sent_hash and row.checked_hash = row.desired_hash
      and row.pending
      and row.invalid_reason is null and row.held_by is null and row.gone_at is null and row.guard_run is null
      and not ${isSuspended()} and not ${lacksRequirement(requires)}
    order by row.partner_id, row.row_id`
  const { rows } = await withCarriedRows(trx, submissionId, () => remaining.execute(trx))
  return rows
}

/** Plans a request for some of a submission's rows, which it holds from now on. @returns its id. */
export async function insertPart(
  trx: Transaction<Schema>,
  parent: Submission,
  runId: number,
  rowIds: readonly number[],
): Promise<number> {
  const { submission_id: id } = await trx
    .insertInto('submission')
    .values({
      run_id: runId,
      kind: parent.kind,
      partition: parent.partition,
      state: 'planned',
      row_count: rowIds.length,
      parent_id: parent.submission_id,
      root_id: rootOf(parent),
      depth: parent.depth + 1,
    })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  await sql`
    insert into submission_row (submission_id, row_id) select ${id}, unnest(${rowIds}::bigint[])`.execute(trx)
  await sql`
    insert into held_property (partner_id, stream, submission_id)
    select distinct partner_id, stream, ${id}::bigint from source_row where row_id = any(${rowIds}::bigint[])`.execute(
    trx,
  )
  return id
}

/** `overdue`: what an earlier part waits for at the service has not ended for so long that no run waits for it. */
type EarlierPart = 'none' | 'writes' | 'overdue'

/**
 * Whether a part has to wait: an earlier part of the same first request writes to a company that this one writes to as
 * well, and the service has not finished with it. Two at once could land in any order.
 */
export async function earlierPart(db: Database, part: Submission): Promise<EarlierPart> {
  if (part.root_id === null) return 'none'
  // All are grouped by what they write to, not joined by it: nobody can tell the planner how many of them there are.
  const { rows } = await sql<{ overdue: boolean | null }>`
    with part as (
      select submission_id, submission_id < ${part.submission_id} as earlier, overdue_since is not null as overdue
      from submission
      where submission_id = ${part.submission_id}
        or (root_id = ${part.root_id} and submission_id < ${part.submission_id}
            and state in ('planned', 'sending', 'accepted', 'uncertain'))
    ),
    written as (
      select bool_or(overdue) filter (where earlier) as overdue
      from part
      join submission_row using (submission_id)
      join acceptance using (row_id)
      left join mapping using (partner_id)
      group by coalesce(mapping.company_id::text, 'partner ' || partner_id)
      having bool_or(earlier) and bool_or(not earlier)
    )
    select bool_or(overdue) as overdue from written`.execute(db)
  const overdue = rows[0]?.overdue ?? null
  return overdue === null ? 'none' : overdue ? 'overdue' : 'writes'
}
