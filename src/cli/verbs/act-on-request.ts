import { setTimeout as delay } from 'node:timers/promises'
import { counted } from '../../counted.ts'
import { abandonSubmission } from '../../pipeline/actions/abandon-submission.ts'
import { adoptTask } from '../../pipeline/actions/adopt-task.ts'
import { cancelTask } from '../../pipeline/actions/cancel-task.ts'
import { type StateOfRequest, stateOfRequest } from '../../pipeline/actions/state-of-request.ts'
import type { Deps } from '../../pipeline/deps.ts'
import { lookAtSubmission } from '../../pipeline/push/look-at-submission.ts'
import { searchKinds } from '../../pipeline/streams/kind-names.ts'
import { isId } from '../../pipeline/streams/rules/row-content.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { openIdleFerry, quietConfig } from '../open-ferry.ts'
import { readConfig } from '../read-config.ts'
import { readable } from '../show/readable.ts'
import { toItsEnd } from '../whole-process.ts'
import { actingUser } from '../with-database.ts'

/**
 * `nightferry abandon <submission>`: gives a submission up that waits for ever; its rows go out again with the next
 * run.
 */
export async function abandon(cli: Cli, submissionId: number, options: CommonOptions): Promise<ExitCode> {
  return await withIdleFerry(cli, options, async (deps) => {
    const abandoned = await abandonSubmission(deps, submissionId, actingUser(cli))
    if (options.json) {
      printJson(cli.stdout, abandoned)
      return exitCodes.well
    }
    const { kind, was, correlation_id } = abandoned
    printLine(cli.stdout, readable(`Submission ${submissionId} (${kind}, ${was}) is given up.`))
    printLine(cli.stdout, whatFollows(abandoned, await stateOfRequest(deps, submissionId)))
    if (correlation_id !== null) {
      printLine(
        cli.stdout,
        readable(`Its task ${correlation_id} may go on at the service, and nobody reads its end any more.`),
      )
    }
    return exitCodes.well
  })
}

type GivenUp = Pick<Awaited<ReturnType<typeof abandonSubmission>>, 'kind' | 'rows' | 'sent'>

/** A part of a split request carries rows that its run has sent already, and sends no more as they are. */
function whatFollows({ kind, rows, sent }: GivenUp, { run_state, parent_id }: StateOfRequest): string {
  if (searchKinds.includes(kind)) {
    return run_state === 'running' ? 'The run searches again.' : 'Its run has ended; the next one searches again.'
  }
  const carried = counted(rows, 'row')
  if (sent) return `What became of its ${carried} is unknown; the next run sends them again.`
  if (parent_id === null) return `Nothing of it was sent; its ${carried} can be planned again at once.`
  return `Nothing of it was sent. The next run sends its ${carried} again, which went out with submission ${parent_id}.`
}

/** `nightferry adopt <submission> <correlation id>`: says which task an uncertain submission became. */
export async function adopt(
  cli: Cli,
  submissionId: number,
  correlationId: string,
  options: CommonOptions,
): Promise<ExitCode> {
  if (!isId(correlationId)) {
    throw new UsageError(`'${correlationId}' is no correlation id; it looks like 7f0c2f6e-3b7e-4a57-9d0b-1f2f3c4d5e6f`)
  }
  return await withIdleFerry(cli, options, async (deps) => {
    const adopted = await adoptTask(deps, submissionId, correlationId, actingUser(cli))
    if (options.json) printJson(cli.stdout, adopted)
    else {
      const { kind, correlation_id, task_status, rows } = adopted
      printLine(
        cli.stdout,
        readable(
          `Submission ${submissionId} (${kind}, ${counted(rows, 'row')}) is task ${correlation_id}, which is ${task_status}. Its outcomes are read from there.`,
        ),
      )
    }
    return exitCodes.well
  })
}

/**
 * `nightferry cancel <submission>`: asks the service to cancel its task. Exit code 1 when the service does not, because
 * processing has begun, or has ended since the last poll.
 */
export async function cancel(cli: Cli, submissionId: number, options: CommonOptions): Promise<ExitCode> {
  return await withIdleFerry(cli, options, async (deps) => {
    const answer = await cancelTask(deps, submissionId, actingUser(cli))
    const { polled, ...now } = await stateNow(deps, submissionId)
    const { state, task_status, run_state } = now
    if (options.json) {
      printJson(cli.stdout, { ...answer, state, task_status, run_state })
    } else if (answer.cancelled) {
      const { kind, correlation_id, rows } = answer
      printLine(cli.stdout, readable(`Task ${correlation_id} of submission ${submissionId} (${kind}) is cancelled.`))
      printLine(cli.stdout, whatNow(now, kind, rows))
    } else {
      printLine(cli.stderr, readable(`nightferry: ${answer.said}`))
      printLine(cli.stderr, readable(whyNot(now, answer.kind, polled)))
    }
    return answer.cancelled ? exitCodes.well : exitCodes.failed
  })
}

/** For how long a look waits for another one that is at work, as one of the run's own is now and then. Milliseconds. */
const lookWaits = { atMostMs: 5_000, pauseMs: 100 }

/**
 * Looks at once, as a daemon would, so that the person sees what came of it. Whatever fails here is looked at again.
 * @returns with `polled` whether the service has said since where the task is: not where the call failed.
 */
async function stateNow(deps: Deps, submissionId: number): Promise<StateOfRequest & { polled: boolean }> {
  const before = await stateOfRequest(deps, submissionId)
  const look = () =>
    lookAtSubmission(deps, submissionId).catch((error: Error) => {
      deps.logger.warn({ submission_id: submissionId, error: error.message }, 'look_failed')
      return true
    })
  const giveUpAt = performance.now() + lookWaits.atMostMs
  while (!(await look()) && performance.now() < giveUpAt) await delay(lookWaits.pauseMs)
  const now = await stateOfRequest(deps, submissionId)
  return { ...now, polled: now.polls > before.polls }
}

/** Of a task that was not cancelled. The service says the same of one that has begun and of one that has ended. */
function whyNot({ state, task_status, run_state }: StateOfRequest, kind: string, polled: boolean): string {
  if (state === 'settled') return `The task has ended (${task_status}), and its outcome is read.`
  if (state === 'terminal') return `The task has ended (${task_status}), and its outcome is read as ever.`
  const running = run_state === 'running'
  if (polled && state === 'accepted' && running) {
    return 'Processing has begun, so the task goes on, and its outcome is read as ever.'
  }
  const begun = 'Processing has begun, and may have ended since;'
  if (running) return `${begun} the run reads the outcome.`
  return searchKinds.includes(kind)
    ? `${begun} its run has ended, and the next one searches again.`
    : `${begun} the next run that sends reads the outcome.`
}

function whatNow({ state, task_status, run_state }: StateOfRequest, kind: string, rows: number): string {
  if (run_state !== 'running') {
    return searchKinds.includes(kind)
      ? 'Its run has ended; the next one searches again.'
      : 'Its run has ended; the next run that sends reads the end of the task from the service.'
  }
  if (state !== 'settled') return 'The run reads the end of the task from the service at its next poll.'
  if (rows === 0) return `The service says ${task_status}.`
  return `The service says ${task_status}: what became of its ${counted(rows, 'row')} is unknown, and the next run sends them again.`
}

/**
 * Opens what a verb needs that acts on a submission: the database, the service, and a queue that it works nothing off.
 */
async function withIdleFerry<T>(cli: Cli, options: CommonOptions, work: (deps: Deps) => Promise<T>): Promise<T> {
  const ferry = await openIdleFerry(cli, quietConfig(readConfig(cli, options)))
  try {
    return await toItsEnd(work(ferry.deps))
  } finally {
    await ferry.close()
  }
}
