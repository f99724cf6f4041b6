import { cancelTask } from '../../pipeline/actions/cancel-task.ts'
import type { Deps } from '../../pipeline/deps.ts'
import { lookAtSubmission } from '../../pipeline/push/look-at-submission.ts'
import { actingUser } from '../acting-user.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { counted, readable } from '../show/readable.ts'
import { withIdleFerry } from '../with-idle-ferry.ts'

/**
 * `nightferry cancel <submission>`: asks the service to cancel its task. Exit code 1 when the service does not, because
 * processing has begun.
 */
export async function cancel(cli: Cli, submissionId: number, options: CommonOptions): Promise<ExitCode> {
  return await withIdleFerry(cli, options, async (deps) => {
    const answer = await cancelTask(deps, submissionId, actingUser(cli))
    const state = await stateNow(deps, submissionId)
    if (options.json) {
      printJson(cli.stdout, { ...answer, ...state })
    } else if (answer.cancelled) {
      const { kind, correlation_id, rows } = answer
      printLine(cli.stdout, readable(`Task ${correlation_id} of submission ${submissionId} (${kind}) is cancelled.`))
      printLine(cli.stdout, whatNow(state, rows))
    } else {
      printLine(cli.stderr, readable(`nightferry: ${answer.said}`))
      printLine(cli.stderr, 'Processing has begun, so the task goes on, and its outcome is read as ever.')
    }
    return answer.cancelled ? exitCodes.well : exitCodes.failed
  })
}

type Now = { state: string; task_status: string | null; run_state: string }

/**
 * Looks at once, as a daemon would, so that the person sees what came of it. Whatever fails here is looked at again.
 */
async function stateNow(deps: Deps, submissionId: number): Promise<Now> {
  await lookAtSubmission(deps, submissionId).catch((error: Error) =>
    deps.logger.warn({ submission_id: submissionId, error: error.message }, 'look_failed'),
  )
  return await deps.db
    .selectFrom('submission')
    .innerJoin('run', 'run.run_id', 'submission.run_id')
    .select(['submission.state', 'task_status', 'run.state as run_state'])
    .where('submission_id', '=', submissionId)
    .executeTakeFirstOrThrow()
}

function whatNow({ state, task_status, run_state }: Now, rows: number): string {
  if (run_state !== 'running') return 'No run is under way; the next one reads the end of the task from the service.'
  if (state !== 'settled') return 'The run reads the end of the task from the service at its next poll.'
  if (rows === 0) return `The service says ${task_status}.`
  return `The service says ${task_status}: what became of its ${counted(rows, 'row')} is unknown, and the next run sends them again.`
}
