import { newestRuns, runExists } from '../../db/runs/listed-rows.ts'
import { type SubmissionReport, submissionReports } from '../../db/runs/report-rows.ts'
import { unmatchedWords } from '../../pipeline/report/report.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { moment } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type SubmissionsOptions = CommonOptions & { run?: number }

/** What there is to say of a request beside its counts. */
function said(s: SubmissionReport): string {
  return [
    s.parent_id === null ? '' : `part of ${s.parent_id}`,
    s.error_code === null ? '' : `${s.error_code}: ${s.error_message ?? ''}`,
    s.unmatched === 0 ? '' : `${s.unmatched} unmatched, such as ${s.unmatched_examples.map(unmatchedWords).join('; ')}`,
  ]
    .filter((part) => part !== '')
    .join('; ')
}

/** `nightferry submissions`: the requests of a run, the last one unless another is named. */
export async function submissions(cli: Cli, options: SubmissionsOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    const runId = options.run ?? (await newestRuns(db, 1))[0]?.run_id
    if (options.run !== undefined && !(await runExists(db, options.run))) {
      throw new UsageError(`There is no run ${options.run}; nightferry runs lists them`)
    }
    const found = runId === undefined ? [] : await submissionReports(db, runId)
    if (options.json) {
      printJson(cli.stdout, found)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      found.length === 0
        ? runId === undefined
          ? 'There was no run yet.'
          : `Run ${runId} sent nothing.`
        : table(
            [
              'no',
              'kind',
              'state',
              'status',
              'correlation id',
              'rows',
              'confirmed',
              'inferred',
              'rejected',
              'unknown',
              'sent (UTC)',
              'settled (UTC)',
              'said',
            ],
            found.map((s) => [
              s.submission_id,
              s.kind,
              s.state,
              s.task_status,
              s.correlation_id,
              s.rows,
              s.confirmed,
              s.inferred,
              s.rejected,
              s.unknown,
              moment(s.attempted_at),
              moment(s.settled_at),
              said(s),
            ]),
          ),
    )
    return exitCodes.well
  })
}
