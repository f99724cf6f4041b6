import { requirementsOf } from '../../config/requirements.ts'
import { comparisonOf } from '../../db/differences/list-differences.ts'
import { rowComparisonsOf } from '../../db/differences/store-row-differences.ts'
import { plansOf } from '../../db/guard/guard-plan.ts'
import { keyRefusedWords } from '../../db/ledger/parked-reason.ts'
import { repairsHeld } from '../../db/ledger/repair-rows.ts'
import { mappingsMovedIn } from '../../db/ledger/store-mappings.ts'
import { removePayloads } from '../../db/ledger/stored-payload.ts'
import { finishRun } from '../../db/runs/end-run.ts'
import { runOfOtherCopy } from '../../db/runs/own-database.ts'
import { nameChanges, refusedRows, searchReports, streamReports, submissionReports } from '../../db/runs/report-rows.ts'
import { refusedKeyInUse } from '../../db/service-key/key-in-use.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'
import { documentReports } from '../pull/documents/document-reports.ts'
import { forgetRemoved } from '../pull/merge/keep-removed.ts'
import { removeHistory } from '../pull/merge/value-history.ts'
import { countUnrenewed } from '../pull/removals/take-removals.ts'
import { unknownProperties } from '../pull/search/unknown-properties.ts'
import { overdueCode } from '../push/sending/overdue.ts'
import { documentKindNames, searchKind } from '../streams/kind-names.ts'
import { comparisonNotices } from './comparison-words.ts'
import { documentRemarks } from './document-words.ts'
import { logFinished } from './log-finished.ts'
import { mappingNotices } from './mapping-words.ts'
import { noticesOf } from './notices.ts'
import { overdueSearchRemarks } from './overdue-words.ts'
import { ownDatabaseRemarks } from './own-database-words.ts'
import { referenceNews } from './reference-news.ts'
import { judge, type RunReport } from './report.ts'
import { rowComparisonRemarks } from './row-comparison-words.ts'
import { searchNotices, unknownPropertyNotices } from './search-words.ts'
import { unrenewedRemarks } from './unrenewed-words.ts'

/**
 * Refused rows that a report lists; the rest is counted, and shown by `nightferry rejected`, `invalid` and `unknown`.
 */
const refusedListed = 50

/** Draws up the report of a run, checks that its counts add up, and ends the run with it. */
export async function finishWithReport(deps: Deps, run: Run): Promise<void> {
  const { config, db } = deps
  // From one snapshot: the outcomes of a task that the run no longer waits for may be stored at this moment.
  const { streams, submissions } = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => ({
      streams: await streamReports(trx, run.run_id, requirementsOf(config)),
      submissions: await submissionReports(trx, run.run_id),
    }))
  const searches = await searchReports(db, run.run_id, searchKind)
  const documents = await documentReports(db, run.run_id, documentKindNames)
  const renamed = await nameChanges(db, run.run_id)
  const held = await plansOf(db, run.run_id)
  const news = await referenceNews(db, run)
  const key = await refusedKeyInUse(db)
  const refused = key === null ? null : keyRefusedWords(key.since, [key.errorCode, key.serviceMessage])
  const comparison = await comparisonOf(db, run.run_id)
  const comparisons = await rowComparisonsOf(db, run.run_id)
  const comparisonFindings = rowComparisonRemarks(comparisons, await repairsHeld(db, run.run_id))
  const leftOut = new Set(
    searches.flatMap((search) => search.left_out_properties.map(({ property_id }) => property_id)),
  )
  const unknown = await unknownProperties(db, config.pull, deps.contract, leftOut)
  const judged = judge(streams, submissions, searches, held, refused, comparison)
  const overdueSearches = overdueSearchRemarks(
    submissions.filter(({ kind }) => kind === searchKind),
    overdueCode,
  )
  const unrenewed = await countUnrenewed(db)
  const standing = unrenewedRemarks(unrenewed)
  const remarks = [
    ...ownDatabaseRemarks(await runOfOtherCopy(db, run.run_id)),
    ...news.remarks,
    ...judged.remarks,
    ...overdueSearches,
    ...comparisonFindings,
    ...standing.remarks,
    ...documentRemarks(documents),
  ]
  const verdict = judged.verdict === 'succeeded' && remarks.length > 0 ? 'partial' : judged.verdict
  const finishedAt = deps.now()
  const report: RunReport = {
    run_id: run.run_id,
    job: run.job,
    trigger: run.trigger,
    started_at: run.started_at,
    finished_at: finishedAt,
    duration_ms: finishedAt.getTime() - run.started_at.getTime(),
    resumed: run.resumed,
    verdict,
    remarks,
    notices: [
      ...news.notices,
      ...noticesOf(streams, submissions),
      ...mappingNotices(await mappingsMovedIn(db, run.run_id)),
      ...searchNotices(searches, renamed),
      ...unknownPropertyNotices(unknown),
      ...standing.notices,
      ...comparisonNotices(comparison),
    ],
    held,
    streams,
    submissions,
    searches,
    documents,
    renamed,
    not_renewed: unrenewed,
    comparison,
    comparisons,
    refused: await refusedRows(db, refusedListed),
  }
  await forgetPayloads(deps)
  await forgetHistory(deps)
  await forgetRemovals(deps)
  await db.transaction().execute((trx) => finishRun(trx, run.run_id, verdict, report, finishedAt))
  logFinished(deps.logger, report)
}

const dayMs = 86_400_000

/** Removes the bodies of requests that ended long ago: they take most room, and no run reads them. */
async function forgetPayloads({ config, db, logger, now }: Deps): Promise<void> {
  const days = config.push.keepPayloadsDays
  if (days === 0) return
  const submissions = await removePayloads(db, new Date(now().getTime() - days * dayMs))
  if (submissions > 0) logger.info({ submissions, days }, 'payloads_removed')
}

/** Removes recorded changes of values that are older than is wanted. */
async function forgetHistory({ config, db, logger, now }: Deps): Promise<void> {
  const days = config.pull.keepHistoryDays
  if (days === 0) return
  const changes = await removeHistory(db, new Date(now().getTime() - days * dayMs))
  if (changes > 0) logger.info({ changes, days }, 'value_changes_removed')
}

/** Forgets what was removed so long ago that nobody is to bring it back. */
async function forgetRemovals({ config, db, logger, now }: Deps): Promise<void> {
  const days = config.pull.keepRemovedDays
  if (days === 0) return
  const parts = await forgetRemoved(db, new Date(now().getTime() - days * dayMs))
  if (parts > 0) logger.info({ parts, days }, 'removals_forgotten')
}
