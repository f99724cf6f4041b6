import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { lockLoading } from '../../../db/locks/advisory-lock.ts'
import { lockRun } from '../../../db/runs/run-life.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Run } from '../../../db/tables/run-tables.ts'
import { unfinishedStates } from '../../../db/tables/submission-tables.ts'
import { type Deps, StopRun } from '../../deps.ts'
import { overdueCode } from '../../push/move-submission.ts'
import { searchKind } from '../../streams/kind-names.ts'
import {
  forgetSeen,
  gatherEvidence,
  type Loss,
  layOutUnseen,
  losses,
  type SearchEvidence,
  tombstoneUnseen,
} from '../merge/retire-calculators.ts'
import { isSuspicious, isSuspiciousWith, markProtected, markUnseen, settleMarks } from '../merge/unrenewed-parts.ts'
import { netChanges, noteCompleteSearch } from '../merge/value-history.ts'
import { doubtfulProperties, leftOutProperties } from './requested-properties.ts'
import { askedOf } from './search-pages.ts'

/**
 * Plans the run's calculator search, once, and waits for it and its pages, for `exchange.taskPatienceMs` at most for
 * its task. A run that the guard holds asks the service for nothing.
 *
 * @returns true while the search or one of its pages is still under way.
 * @throws {StopRun} when the service could not do the search.
 */
export async function planSearch(deps: Deps, run: Run): Promise<boolean> {
  if (run.held) return false
  return await deps.db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return true
    // Not its task, which holds the addresses of all pages: the end of every page comes by here.
    const search = await trx
      .selectFrom('submission')
      .select(['submission_id', 'state', 'error_code', 'error_message', 'correlation_id'])
      .where('run_id', '=', run.run_id)
      .where('kind', '=', searchKind)
      .where('state', '!=', 'abandoned')
      .executeTakeFirst()
    if (search === undefined) {
      const { submission_id } = await trx
        .insertInto('submission')
        .values({ run_id: run.run_id, kind: searchKind, state: 'planned', row_count: 0 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      await deps.looks.atSubmissions(trx, [submission_id])
      await warnOfProperties(deps, trx, run.run_id)
      return true
    }
    if (unfinishedStates.includes(search.state)) return true
    // The report says so, and what is known stays.
    if (search.error_code === overdueCode) return false
    if (search.state !== 'settled' || search.error_code !== null) {
      throw new StopRun(
        search.error_code ?? 'search_failed',
        `The calculator search (submission ${search.submission_id}${search.correlation_id === null ? '' : `, task ${search.correlation_id}`}) brought nothing: ${search.error_message ?? search.state}. What was sent is safe; nightferry run ${run.job} searches again`,
      )
    }
    const listed = await trx
      .selectFrom('search_page')
      .select('page_id')
      .where('submission_id', '=', search.submission_id)
      .where('state', '=', 'listed')
      .limit(1)
      .executeTakeFirst()
    return listed !== undefined
  })
}

async function warnOfProperties({ config, logger }: Deps, db: Database, runId: number): Promise<void> {
  const properties = await doubtfulProperties(db, config.pull.customPropertyIds)
  if (properties.length > 0) logger.warn({ run_id: runId, properties }, 'custom_properties_not_to_be_had')
}

export type FinishOptions = {
  /** The calculator types that the search selected; empty, the default, for all. */
  calculatorTypeIds?: readonly string[]
  /** Below this share of what is known the search returned suspiciously little, and proves nothing. 0 to 1. */
  minSeenShare?: number
  /** Whether the service says that the search succeeded in part only. */
  partial?: boolean
}

/** Why absence from the search proves nothing. */
type WithheldReason =
  | 'no_pages'
  | 'search_partial'
  | 'pages_not_loaded'
  | 'pages_guessed'
  | 'unidentified_companies'
  | 'too_few_companies'
  | 'too_few_calculators'
  | 'too_few_inputs'
  | 'too_few_outputs'
  | 'too_few_properties'

/**
 * Reasons of the guard: the search is whole, and shows suspiciously little. A person may let through what it withholds.
 */
const guardReasons: readonly WithheldReason[] = [
  'too_few_companies',
  'too_few_calculators',
  'too_few_inputs',
  'too_few_outputs',
  'too_few_properties',
]

export type FinishedSearch = {
  /** Companies and calculators that were tombstoned. */
  companies: number
  calculators: number
  /** Values that went from calculators that stand, because no page of their company gave them. */
  values: number
  /** True: nothing was tombstoned, for `reason`. */
  withheld: boolean
  reason: WithheldReason | null
}

/**
 * Half: a partner that really loses half of its hotels in a night can say so with a lower share,
 * while a search that failed half-way must not wipe the tables.
 */
export const defaultMinSeenShare = 0.5

/**
 * Ends a calculator search whose pages are all loaded: what it should have returned and did not is tombstoned, and what
 * it has seen is forgotten. A company that is gone takes all of its calculators with it.
 *
 * Tombstones nothing, says why, and marks what it has not seen as not renewed, when the search cannot prove absence.
 * While pages are missing it can be called again and judges again; on a search that it ended before it does nothing.
 */
export async function finishSearch(
  trx: Transaction<Schema>,
  submissionId: number,
  { calculatorTypeIds = [], minSeenShare = defaultMinSeenShare, partial = false }: FinishOptions = {},
): Promise<FinishedSearch> {
  await lockLoading(trx, 'exclusive')
  await analyzeGrown(trx)
  const evidence = await gatherEvidence(trx, submissionId, calculatorTypeIds)
  if (evidence.finished) return { companies: 0, calculators: 0, values: 0, withheld: false, reason: null }
  await layOutUnseen(trx, submissionId, calculatorTypeIds)
  const reason =
    reasonToWithhold(evidence, minSeenShare, partial) ??
    (await reasonOfLosses(await losses(trx, submissionId), minSeenShare))
  if (reason !== null) {
    await markUnseen(trx, submissionId, reason, guardReasons.includes(reason))
    await settleMarks(trx, submissionId)
    await netChanges(trx, [submissionId])
    if (reason !== 'pages_not_loaded') await forgetSeen(trx, submissionId, false)
    return { companies: 0, calculators: 0, values: 0, withheld: true, reason }
  }
  const gone = await tombstoneUnseen(trx, submissionId)
  await markProtected(trx, submissionId)
  await settleMarks(trx, submissionId)
  await netChanges(trx, [submissionId])
  await noteCompleteSearch(trx, submissionId, calculatorTypeIds)
  await forgetSeen(trx, submissionId, true)
  return { ...gone, withheld: false, reason: null }
}

/**
 * Whether a search can prove absence: first whether it is whole, then whether it shows suspiciously little. Pure.
 * @param partial as `FinishOptions` has it: what failed is absent from its pages, by rules of processing 5 and 6.
 */
export function reasonToWithhold(
  evidence: SearchEvidence,
  minSeenShare: number,
  partial = false,
): WithheldReason | null {
  const { seenCompanies, knownCompanies, seenCalculators, knownCalculators } = evidence
  // Whatever the share: an empty page shows that nothing is there, and no page shows nothing.
  if (evidence.pages === 0 && knownCompanies + knownCalculators > 0) return 'no_pages'
  if (evidence.pagesNotLoaded > 0) return 'pages_not_loaded'
  if (evidence.pagesGuessed > 0) return 'pages_guessed'
  if (evidence.unidentifiedCompanies > 0) return 'unidentified_companies'
  if (partial) return 'search_partial'
  if (isSuspicious({ seen: seenCompanies, known: knownCompanies }, minSeenShare)) return 'too_few_companies'
  if (isSuspicious({ seen: seenCalculators, known: knownCalculators }, minSeenShare)) return 'too_few_calculators'
  return null
}

/** Few companies may contain most of the values: what would go with them is judged by itself. */
async function reasonOfLosses(found: readonly Loss[], minSeenShare: number): Promise<WithheldReason | null> {
  for (const { reason, gone, count } of found) {
    // What would stay is what is there but for what would go.
    const stays = async (limit: number) => Math.max(0, (await count(gone + limit)) - gone)
    if (gone > 0 && (await isSuspiciousWith({ seen: 0, known: gone }, minSeenShare, stays))) return reason
  }
  return null
}

/**
 * Once every page of the run's search is loaded: what it should have returned and did not is tombstoned. A search
 * that succeeded in part, or with a page that failed, proves nothing about what is absent.
 */
export async function completeSearch(deps: Deps, run: Run): Promise<void> {
  const search = await deps.db
    .selectFrom('submission')
    .select(['submission_id', 'task_status', 'asked'])
    .where('run_id', '=', run.run_id)
    .where('kind', '=', searchKind)
    .where('state', '=', 'settled')
    .executeTakeFirst()
  if (search === undefined) return
  const { minSeenShare } = deps.config.pull
  const { calculatorTypeIds, customPropertyIds } = askedOf(search.asked, deps.config)
  const partial = search.task_status !== deps.contract.taskStatuses.success
  const result = await deps.db.transaction().execute(async (trx) => {
    const ended = await finishSearch(trx, search.submission_id, { calculatorTypeIds, minSeenShare, partial })
    const left_out_properties = await leftOutProperties(trx, search.submission_id, customPropertyIds)
    const finished = { ...ended, left_out_properties }
    // A page that failed will not be loaded any more: what the others have shown is of no use.
    if (finished.reason === 'pages_not_loaded') await forgetSeen(trx, search.submission_id, false)
    await trx
      .updateTable('submission')
      .set({ search_result: JSON.stringify(finished) })
      .where('submission_id', '=', search.submission_id)
      .where('search_result', 'is', null)
      .execute()
    return finished
  })
  deps.logger.info({ run_id: run.run_id, submission_id: search.submission_id, ...result }, 'search_completed')
}

/** Grown by more than this since they were last looked at, tables are not what the planner believes. */
const grownBy = 1.5

/**
 * Tells the planner of what a search has loaded, where it has loaded much. The server would find out by itself, minutes
 * later; what follows at once joins these tables, and a plan for empty tables takes hours on full ones. Where another
 * session is at the same work, it is left to that.
 */
async function analyzeGrown(trx: Transaction<Schema>): Promise<void> {
  // What a search has seen is there for its duration only: what was found out of another is of no use.
  await sql`analyze (skip_locked) search_seen_company, search_seen_calculator`.execute(trx)
  const { rows } = await sql<{ grown: boolean }>`
    select (select count(*) from calculator) > ${grownBy}::numeric * greatest(reltuples, 0)::numeric as grown
    from pg_class where oid = 'calculator'::regclass`.execute(trx)
  if (rows[0]?.grown !== true) return
  await sql`analyze (skip_locked) company, company_property, calculator, calculator_value`.execute(trx)
}
