import pg from 'pg'
import { taskProfile } from '../chaos/profiles.ts'
import type { LaterEnds } from '../chaos/small-first.ts'
import { changeOutcome, failInstead, logTaskChaos } from '../chaos/task-chaos.ts'
import { type Durations, processingMs } from '../durations.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { finishTask } from './move-task.ts'
import type { Outcome, StartedTask } from './sandbox-task.ts'

/** Does the work of one task. Must be repeatable: after trouble or a restart it is called again from the start. */
export type ProcessTask = (task: StartedTask, signal: AbortSignal) => Promise<Outcome>

type ProcessOptions = {
  durations: Durations
  process: ProcessTask
  laterEnds: LaterEnds
  /** How often chaos has the task re-queued yet; counted down here. */
  repeat: { left: number }
}

/** True when the task is done for good, false when it is to be re-queued or was broken off. */
export async function processOnce(
  sandbox: Sandbox,
  task: StartedTask,
  { durations, process, laterEnds, repeat }: ProcessOptions,
  signal: AbortSignal,
): Promise<boolean> {
  let outcome: Outcome
  try {
    outcome = (await failInstead(sandbox, task)) ?? (await process(task, signal))
  } catch (error) {
    if (signal.aborted) return false
    if (isTransient(error)) {
      sandbox.logger.warn({ err: error, correlation_id: task.id }, 'sandbox_task_requeued')
      return false
    }
    sandbox.logger.error({ err: error, correlation_id: task.id }, 'sandbox_task_crashed')
    outcome = { accepted: 0, failed: 1, rowErrors: [], generalErrors: ['The request could not be processed.'] }
  }
  const endsAt = task.startedAt + processingMs(durations, task, sandbox.seed)
  await sandbox.clock.wait(Math.max(0, endsAt - sandbox.clock.now()), signal)
  if (signal.aborted) return false
  if (repeat.left > 0) {
    await logTaskChaos(sandbox, taskProfile.statusesRepeated, task.id)
    repeat.left -= 1
    return false
  }
  const told = await changeOutcome(sandbox, task, outcome)
  await laterEnds.wait(task, signal)
  if (signal.aborted) return false
  await finishTask(sandbox, task.id, told)
  laterEnds.ended(task)
  return true
}

/**
 * SQLSTATE classes and codes of trouble that passes: connections, resources, restarts, conflicts between transactions.
 */
const transientStates = /^(08|53|57P|40|55P03|57014)/

/** pg reports a lost connection as a plain Error without a code, so its wording is all there is to tell it by. */
const lostConnection = /connection terminated|connection error|timeout exceeded|client was closed/i

/** Whether processing may succeed when it is tried again; everything else is a fault of the program or of the data. */
function isTransient(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return transientStates.test(error.code ?? '')
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string') return /^E[A-Z]+$/.test(error.code)
  return lostConnection.test(error.message)
}
