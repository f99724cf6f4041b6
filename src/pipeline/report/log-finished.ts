import type { Logger } from 'pino'
import type { RunReport } from './report.ts'

/** Who is told of warnings and errors only hears of every run that needs a person. */
const levels = { succeeded: 'info', partial: 'warn', failed: 'error' } as const satisfies Record<
  RunReport['verdict'],
  string
>

/** Writes into the log how a run ended, at the level that its verdict deserves. */
export function logFinished(
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  { run_id, verdict, remarks }: Pick<RunReport, 'run_id' | 'verdict' | 'remarks'>,
): void {
  logger[levels[verdict]]({ run_id, verdict, remarks }, 'run_finished')
}
