import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { requirementsOf } from '../../config/require-settings.ts'
import { isOurStream } from '../../config/schema.ts'
import type { Database } from '../../db/database.ts'
import { releaseResends, releaseRetries } from '../../db/ledger/rows-again.ts'
import { releaseByPolicy } from '../../db/ledger/rows-to-retry.ts'
import { releaseResumed } from '../../db/ledger/suspended-hotels.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import { type Deps, sendingSetting } from '../deps.ts'
import { carriedStreams, streams } from '../streams/our-streams.ts'
import { loadReferenceIndex, type ReferenceIndex, type RowRules } from '../streams/rules/reference-index.ts'
import {
  checkText,
  checkTexts,
  type LandingRow,
  maxPartnerIdLength,
  type RowContent,
} from '../streams/rules/row-content.ts'
import type { RowWarning } from '../streams/stream.ts'
import { checkTemplateRow } from './fill-template.ts'
import { findContradictions } from './find-contradictions.ts'
import {
  type Judgement,
  judgingBasis,
  resendPolicies,
  storeJudgements,
  type UnjudgedRow,
  unjudgedRows,
} from './judgements.ts'

/** Rows judged at a time: bounds memory, whatever the backlog. */
const batchRows = 500

/**
 * Judges pending rows against the reference data in force and against each other; what fails is invalid, with its
 * reason, and is not sent. A row is judged when its content, or what it was judged by, has changed since, or the row
 * that it contradicts; all others keep their verdict, so that a night with no change costs nothing. Rows that a person,
 * or a policy, wants sent again are released first, so that they are counted with the others.
 */
export async function preflight(deps: Deps, run: Run): Promise<void> {
  const { db, logger } = deps
  const carried = carriedStreams(deps.contract, deps.config)
  // Begun again after its rows were counted, it would send more than it counted: what is asked for since waits.
  if (!(await hasCounted(db, run.run_id))) {
    await releaseResumed(db)
    const again = await releaseResends(db, requirementsOf(deps.config), carried)
    if (again > 0) logger.info({ run_id: run.run_id, rows: again }, 'resends_released')
    const retried = await releaseRetries(db, carried)
    if (retried > 0) logger.info({ run_id: run.run_id, rows: retried }, 'retries_released')
    const resent = await releaseByPolicy(db, carried, resendPolicies(deps.config, deps.contract), deps.now())
    if (resent > 0) logger.info({ run_id: run.run_id, rows: resent }, 'rejected_released_by_policy')
  }
  await countPending(db, run.run_id)
  const judged = await judgeRows(deps, run.started_at)
  logger.info({ run_id: run.run_id, ...judged }, 'preflight_done')
}

/**
 * Judges every row that has to be, and says how many, and how many of these are invalid.
 * @param since when the run began.
 * @param which `unjudged`: in the middle of a run, only what the run itself made to be judged again.
 */
export async function judgeRows(
  deps: Deps,
  since: Date,
  which: 'all' | 'unjudged' = 'all',
): Promise<{ judged: number; invalid: number; contradicting: number }> {
  const { db } = deps
  const { basis, rules } = await judgingOf(deps)
  const carried = carriedStreams(deps.contract, deps.config)
  const contradicting = await db.transaction().execute((trx) => findContradictions(trx, basis, since, carried, which))
  const counts = { judged: 0, invalid: 0, contradicting }
  let reference: ReferenceIndex | null = null
  for await (const rows of unjudgedRows(db, basis, batchRows)) {
    // A night with nothing to judge does not read the frameworks.
    reference ??= await loadReferenceIndex(db, rules)
    const judgements = rows.map((row) => judgementOf(deps, reference as ReferenceIndex, row))
    await storeJudgements(db, basis, judgements)
    const living = new Set(rows.filter(({ is_gone }) => !is_gone).map(({ row_id }) => row_id))
    counts.judged += living.size
    counts.invalid += judgements.filter((one) => one.invalid_reason !== null && living.has(one.row_id)).length
  }
  return counts
}

function judgementOf({ contract }: Deps, reference: ReferenceIndex, row: UnjudgedRow): Judgement {
  const { row_id, hash, stream, partner_id, content } = row
  return {
    row_id,
    hash,
    invalid_reason: checkRow(contract, reference, stream, partner_id, content) ?? row.contradiction,
    warnings: rowWarnings(reference, stream, content),
  }
}

/**
 * What is wrong with a row whose content is whole, or null. Undefined where that is for preflight to say, because there
 * is more to note of it than a verdict.
 */
export type JudgeRow = (row: LandingRow) => string | null | undefined

export type Judge = {
  /** What rows are judged by: a number of `judging_basis`. */
  basis: number
  of: (stream: string) => JudgeRow
}

/**
 * Judges rows on their way into the ledger, as preflight would afterwards, by the same reference data: so a row that is
 * new is written once, and preflight has only to compare it with others.
 */
export async function loadJudge(deps: Deps): Promise<Judge> {
  const { contract, db } = deps
  const { basis, rules } = await judgingOf(deps)
  const reference = await loadReferenceIndex(db, rules)
  return {
    basis,
    of:
      (stream) =>
      ({ partnerId, content }) =>
        rowWarnings(reference, stream, content).length > 0
          ? undefined
          : checkRow(contract, reference, stream, partnerId, content),
  }
}

/** What rows are judged by now: the rules that are ours, and the number of these with the reference data in force. */
async function judgingOf(deps: Deps): Promise<{ basis: number; rules: RowRules }> {
  const { config, contract, db } = deps
  const customIdentifierId = sendingSetting(deps, 'customIdentifierId')
  const rules = { maxTextLength: config.push.maxTextLength, customIdentifierId }
  const addedKinds = digestOf(contract.kinds)
  return { basis: await judgingBasis(db, { checks: checksRevision, ...rules, addedKinds }), rules }
}

function digestOf(kinds: Contract['kinds']): string {
  return createHash('sha256').update(JSON.stringify(kinds)).digest('hex')
}

/**
 * Raised with every change of what the checks say: rows that were judged by an older one are judged again. Too low, and
 * an installation keeps the verdicts of the version before; too high costs one night's judging.
 */
const checksRevision = 5

/**
 * What is wrong with a row before anyone is asked, or null. A row with a reason is never sent.
 * Pure: the reference data is what the service said at the beginning of the run.
 */
export function checkRow(
  contract: Contract,
  reference: ReferenceIndex,
  stream: string,
  partnerId: string,
  content: RowContent,
): string | null {
  return (
    checkPartnerId(partnerId) ??
    checkTexts(content, reference.rules.maxTextLength) ??
    (isOurStream(stream)
      ? streams[stream].check(content, reference, contract)
      : checkTemplateRow(contract, stream, partnerId, content))
  )
}

function checkPartnerId(partnerId: string): string | null {
  if (partnerId.trim() === '') return 'partner_id is empty'
  if (partnerId.length > maxPartnerIdLength) return `partner_id is longer than ${maxPartnerIdLength} characters`
  if (/[\t\n\r]/.test(partnerId)) return 'partner_id holds a tabulator or an end of line'
  return checkText('partner_id', partnerId, maxPartnerIdLength)
}

/** What is odd about a row, none of which is certain to be wrong. Pure. */
export function rowWarnings(reference: ReferenceIndex, stream: string, content: RowContent): RowWarning[] {
  return isOurStream(stream) ? (streams[stream].warn?.(content, reference) ?? []) : []
}

/** Whether the rows that were pending for a run are counted. */
async function hasCounted(db: Database, runId: number): Promise<boolean> {
  const counted = await db
    .selectFrom('run_stream')
    .select('stream')
    .where('run_id', '=', runId)
    .where('pending', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return counted !== undefined
}

/**
 * Counts, per stream of a run, the rows that were pending once its extraction was done. Rows that the run settled
 * before it came so far, or holds, in submissions taken over from an earlier one, count as pending too.
 */
export async function countPending(db: Database, runId: number): Promise<void> {
  await sql`
    with pending as materialized (
      select stream, count(*) as rows
      from ledger
      where gone_at is null and pending
      group by stream
    ),
    settled as materialized (
      select ledger.stream, count(*) as rows
      -- By what the run carries, which is little as yet, and not by the ledger.
      from (
        select distinct row_id from submission join submission_row using (submission_id)
        where submission.run_id = ${runId}
        offset 0
      ) carried
      join ledger using (row_id)
      where gone_at is null and not pending
      group by ledger.stream
    )
    update run_stream
    set pending = coalesce((select rows from pending where pending.stream = run_stream.stream), 0)
      + coalesce((select rows from settled where settled.stream = run_stream.stream), 0)
    where run_id = ${runId} and pending is null`.execute(db)
}
