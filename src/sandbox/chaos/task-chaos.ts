import type { BulkRequest } from '../../exchange/contract.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { cancelTask } from '../tasks/move-task.ts'
import { isSearch, type Outcome, type StartedTask, terminalStatus } from '../tasks/sandbox-task.ts'
import type { Profile } from './profile.ts'
import { taskOccasion, taskProfile } from './task-profiles.ts'

// What is done to tasks. A task's fate is its own: it does not depend on when the dispatcher asks. When several
// profiles strike one task, they come in this order: pending-repeated; tasks-cancelled, which leaves nothing for the
// rest; tasks-stuck, which keeps the rest from happening; one of error-without-body, errors-without-rows and
// poison-rows in the place of the work; statuses-repeated, which repeats that; one of partial-without-rows and
// success-without-pages; small-first.

/** Whether the profile strikes the task; the log is told by what does as the profile says. */
export function isStruck({ chaos }: Sandbox, { name }: Profile, task: { sequence: number | string }): boolean {
  return chaos.fate(name, taskOccasion(task.sequence))
}

/** Writes a line of the phase `chaos` for the task. */
export async function logTaskChaos({ pool, clock }: Sandbox, { name }: Profile, taskId: string): Promise<void> {
  await pool.query(
    `insert into sandbox.request_log (at, profile_id, method, path, correlation_id, phase, chaos)
     select $2, profile_id, method, path, id, 'chaos', $3 from sandbox.task where id = $1`,
    [taskId, new Date(clock.now()), [name]],
  )
}

/**
 * Cancels what is struck among the tasks that are Scheduled. Called between scheduling and starting, it sees every task
 * before it can be started.
 */
export async function cancelStruckTasks(sandbox: Sandbox): Promise<void> {
  const profile = taskProfile.tasksCancelled
  if (!sandbox.chaos.active().has(profile.name)) return
  const { rows } = await sandbox.pool.query<{ id: string; sequence: string }>(
    "select id, sequence from sandbox.task where status = 'scheduled' order by sequence",
  )
  for (const task of rows.filter((row) => isStruck(sandbox, profile, row))) {
    if (await cancelTask(sandbox, task.id)) await logTaskChaos(sandbox, profile, task.id)
  }
}

/** How the task ends instead of being worked on, or null. */
export async function failInstead(sandbox: Sandbox, task: StartedTask): Promise<Outcome | null> {
  const failed = { accepted: 0, failed: 1, rowErrors: [] }
  const { errorWithoutBody, errorsWithoutRows } = taskProfile
  if (isStruck(sandbox, errorWithoutBody, task)) {
    await logTaskChaos(sandbox, errorWithoutBody, task.id)
    return { ...failed, generalErrors: [] }
  }
  if (!isStruck(sandbox, errorsWithoutRows, task)) return null
  await logTaskChaos(sandbox, errorsWithoutRows, task.id)
  return { ...failed, generalErrors: ['The request could not be carried out.'] }
}

/** How often the task is re-queued before it may end. */
export function repetitionsOf(sandbox: Sandbox, task: StartedTask): number {
  const { statusesRepeated } = taskProfile
  if (!isStruck(sandbox, statusesRepeated, task)) return 0
  return 1 + Math.floor(sandbox.chaos.measure(statusesRepeated.name, taskOccasion(task.sequence)) * 3)
}

/** What is told of an outcome in the end. */
export async function changeOutcome(sandbox: Sandbox, task: StartedTask, outcome: Outcome): Promise<Outcome> {
  const { partialWithoutRows, successWithoutPages } = taskProfile
  const hasFiles = isSearch(task.request) || importsWithFile.includes(task.request)
  if (!hasFiles && outcome.accepted > 0 && isStruck(sandbox, partialWithoutRows, task)) {
    await logTaskChaos(sandbox, partialWithoutRows, task.id)
    return { ...outcome, failed: Math.max(1, outcome.failed), rowErrors: [], generalErrors: [] }
  }
  if (hasFiles && terminalStatus(outcome) === 'success' && isStruck(sandbox, successWithoutPages, task)) {
    await logTaskChaos(sandbox, successWithoutPages, task.id)
    await sandbox.pool.query('delete from sandbox.file where task_id = $1 and ordinal >= 0', [task.id])
  }
  return outcome
}

const importsWithFile: readonly BulkRequest[] = ['companyMappings', 'calculatorsUpsert']
