import { newestRuns } from '../../db/runs/listed-rows.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { duration, moment } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type RunsOptions = CommonOptions & { limit: number }

/** `nightferry runs`: the newest runs and their verdicts. */
export async function runs(cli: Cli, options: RunsOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    const found = await newestRuns(db, options.limit)
    if (options.json) {
      printJson(cli.stdout, found)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      found.length === 0
        ? 'There was no run yet.'
        : table(
            ['run', 'job', 'trigger', 'started (UTC)', 'took', 'state', 'verdict', 'why'],
            found.map((run) => [
              run.run_id,
              run.job,
              run.trigger,
              moment(run.started_at),
              run.finished_at === null ? '–' : duration(run.finished_at.getTime() - run.started_at.getTime()),
              run.state === 'running' ? `at ${run.step}` : run.state,
              run.verdict,
              run.failure
                ? `${run.failure.code}: ${run.failure.message}`
                : ((run.report as RunReport | null)?.remarks[0] ?? ''),
            ]),
          ),
    )
    return exitCodes.well
  })
}
