import { requirementsOf } from '../../config/requirements.ts'
import { comparisonOf } from '../../db/differences/list-differences.ts'
import { plansOf } from '../../db/guard/guard-plan.ts'
import { finishRun } from '../../db/runs/end-run.ts'
import { refusedRows, searchReports, streamReports, submissionReports } from '../../db/runs/report-rows.ts'
import type { Run } from '../../db/tables/run.ts'
import type { Deps } from '../deps.ts'
import { searchKind } from '../push/kinds.ts'
import { comparisonNotices } from './comparison-words.ts'
import { noticesOf } from './notices.ts'
import { judge, type RunReport } from './report.ts'

/** Refused rows that a report lists; the rest is counted, and shown by `nightferry rejected`, `invalid` and `unknown`. */
const refusedListed = 50

/** Draws up the report of a run, checks that its counts add up, and ends the run with it. */
export async function finishWithReport(deps: Deps, run: Run): Promise<void> {
  const { config, db } = deps
  const streams = await streamReports(db, run.run_id, requirementsOf(config))
  const submissions = await submissionReports(db, run.run_id)
  const searches = await searchReports(db, run.run_id, searchKind)
  const held = await plansOf(db, run.run_id)
  const comparison = await comparisonOf(db, run.run_id)
  const { verdict, remarks } = judge(streams, submissions, searches, held, comparison)
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
    notices: [...noticesOf(streams), ...comparisonNotices(comparison)],
    held,
    streams,
    submissions,
    searches,
    comparison,
    refused: await refusedRows(db, refusedListed),
  }
  await db.transaction().execute((trx) => finishRun(trx, run.run_id, verdict, report, finishedAt))
  deps.logger.info({ run_id: run.run_id, verdict, remarks }, 'run_finished')
}
