import { carriesData } from '../../config/known-names.ts'
import { requirementsOf } from '../../config/require-settings.ts'
import { comparisonOf, rowComparisonsOf } from '../../db/differences/difference-records.ts'
import { findHeldRun, plansOf } from '../../db/guard/guard-plan.ts'
import { removeOld } from '../../db/housekeeping/remove-old.ts'
import { unsentRepairs } from '../../db/ledger/found-otherwise.ts'
import { keyDeniedWords } from '../../db/ledger/parked-reason.ts'
import { rowsNotAccepted } from '../../db/ledger/rows-not-accepted.ts'
import { mappingsMovedIn } from '../../db/ledger/store-mappings.ts'
import { runOfOtherCopy } from '../../db/own-server.ts'
import { type StreamReport, streamReports, submissionReports } from '../../db/runs/report-rows.ts'
import { finishRun } from '../../db/runs/run-life.ts'
import { nameChanges, searchReports } from '../../db/runs/search-reports.ts'
import { runsSpokenFor, wholeReadings } from '../../db/runs/spoken-for.ts'
import { deniedKeyInUse } from '../../db/service-key/service-key.ts'
import type { GuardPlan, Run } from '../../db/tables/run-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { Deps } from '../deps.ts'
import { documentReports } from '../pull/documents/document-reports.ts'
import { countUnrenewed } from '../pull/removals/take-removals.ts'
import { unobtainableProperties } from '../pull/search/requested-properties.ts'
import { overdueCode } from '../push/move-submission.ts'
import { unknownTaskNews } from '../push/sending/unknown-tasks.ts'
import { documentKindNames, searchKind } from '../streams/kind-names.ts'
import { streamNamesOf } from '../streams/our-streams.ts'
import { notCarriedRemarks } from './carried.ts'
import { mappingNotices, noticesOf, ownDatabaseRemarks, referenceNews } from './notices.ts'
import { askAgedBy, daysBefore, keptDays, keptRemarks } from './reckon-age.ts'
import { emptyReport, judge, logFinished, type RunReport } from './report.ts'
import {
  comparisonNotices,
  documentRemarks,
  overdueSearchRemarks,
  rowComparisonRemarks,
  searchNotices,
  unobtainablePropertyNotices,
  unrenewedRemarks,
} from './report-words.ts'
import { webhookNotices } from './standing.ts'

/**
 * Refused rows that a report lists; the rest is counted, and shown by `nightferry rejected`, `invalid` and `unknown`.
 */
const rowsListed = 50

/** In the order in which a run reads them; two may have landed in another. Pure. */
function inOrder(contract: Contract, streams: readonly StreamReport[]): StreamReport[] {
  const names = streamNamesOf(contract)
  const placeOf = ({ stream }: StreamReport) => (names.includes(stream) ? names.indexOf(stream) : names.length)
  return streams.toSorted((one, other) => placeOf(one) - placeOf(other))
}

/** Whether a run that reads rows is to send them as well. Pure. */
const sendsRows = ({ asked }: Pick<Run, 'asked'>): boolean => asked.only?.includes('push') ?? true

/** What the guard holds of what a run has read or, if it only sends, of what the newest run has that read anything. */
async function heldPlans({ config, db }: Deps, { run_id, asked: { only } }: Run): Promise<GuardPlan[]> {
  const onlySends = only?.includes('push') === true && !only.includes('extract')
  const heldRun = onlySends ? await findHeldRun(db, requirementsOf(config)) : null
  return await plansOf(db, heldRun ?? run_id)
}

/** Draws up the report of a run, checks that its counts add up, and ends the run with it. */
export async function finishWithReport(deps: Deps, run: Run): Promise<void> {
  const { config, db } = deps
  // From one snapshot: the outcomes of a task that the run no longer waits for may be stored at this moment.
  const { streams, submissions } = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => ({
      streams: inOrder(deps.contract, await streamReports(trx, run.run_id, requirementsOf(config), sendsRows(run))),
      submissions: await submissionReports(trx, run.run_id),
    }))
  const spoken = await runsSpokenFor(db, run.run_id)
  const searches = await searchReports(db, run.run_id, searchKind)
  const documents = await documentReports(db, run.run_id, documentKindNames)
  const renamed = await nameChanges(db, run.run_id)
  const held = await heldPlans(deps, run)
  const news = await referenceNews(db, run, spoken)
  const unknownTasks = await unknownTaskNews(db, run.run_id)
  const key = await deniedKeyInUse(db)
  const refused = key === null ? null : keyDeniedWords(key.since, [key.errorCode, key.serviceMessage])
  const comparison = await comparisonOf(db, run.run_id)
  const comparisons = await rowComparisonsOf(db, run.run_id)
  const comparisonFindings = rowComparisonRemarks(comparisons, await unsentRepairs(db, run.run_id))
  const leftOut = new Set(
    searches.flatMap((search) => search.left_out_properties.map(({ property_id }) => property_id)),
  )
  const unobtainable = await unobtainableProperties(db, config.pull, deps.contract, leftOut)
  const judged = judge({ streams, submissions, searches, held, keyDenied: refused, comparison })
  const overdueSearches = overdueSearchRemarks(
    submissions.filter(({ kind }) => kind === searchKind),
    overdueCode,
  )
  const notCarried =
    held.length > 0 || judged.verdict === 'failed'
      ? []
      : notCarriedRemarks(streams, { calculators: searches, broughtNothing: overdueSearches.length > 0, documents })
  const unrenewed = await countUnrenewed(db)
  const standing = unrenewedRemarks(unrenewed)
  const kept = await forgetOld(deps)
  const remarks = [
    ...ownDatabaseRemarks(await runOfOtherCopy(db, run.run_id)),
    ...unknownTasks.remarks,
    ...news.remarks,
    ...notCarried,
    ...judged.remarks,
    ...overdueSearches,
    ...comparisonFindings,
    ...standing.remarks,
    ...documentRemarks(documents),
    ...kept,
  ]
  const verdict = judged.verdict === 'succeeded' && remarks.length > 0 ? 'partial' : judged.verdict
  const finishedAt = deps.now()
  const report: RunReport = {
    ...emptyReport(run, finishedAt),
    verdict,
    remarks,
    notices: [
      ...unknownTasks.notices,
      ...news.notices,
      ...noticesOf(streams, submissions, await wholeReadings(db, spoken.runIds)),
      ...mappingNotices(await mappingsMovedIn(db, spoken.runIds)),
      ...searchNotices(searches, renamed),
      ...unobtainablePropertyNotices(unobtainable),
      ...standing.notices,
      ...comparisonNotices(comparison),
      ...(await webhookNotices(deps)),
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
    refused: await rowsNotAccepted(db, requirementsOf(config), rowsListed),
  }
  const carried = verdict !== 'failed' && held.length === 0 && notCarried.length === 0
  await db
    .transaction()
    .execute((trx) =>
      finishRun(trx, run.run_id, { verdict, report, finishedAt, carried: carriesData(run.job) ? carried : null }),
    )
  logFinished(deps.logger, report)
}

const takesMostRoom = ['payloads', 'value_changes', 'removed_values', 'webhook_events', 'application_events'] as const

/**
 * Removes what takes most room, and no run reads: also where nobody lets the job housekeeping do it.
 * @returns what the report remarks where nothing may be removed.
 */
async function forgetOld(deps: Deps): Promise<string[]> {
  const { config, db, logger } = deps
  const days = keptDays(config)
  const kinds = takesMostRoom.map((kind) => [kind, days[kind]] as const)
  const agedBy = await askAgedBy(deps)
  if (agedBy === null) return await keptRemarks(deps, kinds)
  for (const [kind, kept] of kinds) {
    if (kept === 0) continue
    const rows = await removeOld(db, kind, daysBefore(kept, agedBy))
    if (rows > 0) logger.info({ kind, rows, days: kept }, 'old_rows_removed')
  }
  return []
}
