import type { FastifyRequest } from 'fastify'
import type { BulkRequest } from '../../exchange/contract.ts'
import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import { inTransaction, type Sandbox } from '../running-sandbox.ts'
import { cancelTask } from '../tasks/move-task.ts'
import { asBulkRequest, isSearch, type Outcome, type StartedTask, terminalStatus } from '../tasks/sandbox-task.ts'
import { recordTaskEvents } from '../webhooks/record-event.ts'
import type { Profile } from './profile.ts'
import { taskProfile } from './profiles.ts'
import type { Refusal } from './refuse-request.ts'

// What is done to tasks. A task's fate is its own: it does not depend on when the dispatcher asks. When several
// profiles strike one task, they come in this order: pending-repeated; tasks-cancelled, which leaves nothing for the
// rest; tasks-stuck, which keeps the rest from happening; one of error-without-body, errors-without-rows and
// poison-rows in the place of the work; statuses-repeated, which repeats that; one of partial-without-rows and
// success-without-pages; small-first.

/** Under which a task is judged: its place in the order of all tasks, which the same seed repeats. */
function taskOccasion(sequence: number | string): string {
  return `task ${sequence}`
}

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
 * Re-queues what is struck among the tasks that have been Pending since `before` or longer: each enters Pending once
 * more, and this time it fires. To be called before scheduling.
 * @returns the ids of the tasks that it looked at: only these may be scheduled now, since others can be committed
 *   meanwhile and would go unseen. null: the profile is off, and any may.
 */
export async function repeatPending(sandbox: Sandbox, before: Date): Promise<string[] | null> {
  const profile = taskProfile.pendingRepeated
  if (!sandbox.chaos.active().has(profile.name)) return null
  const { rows } = await sandbox.pool.query<{
    id: string
    sequence: string
    request: string
    profile_id: number
    api_key_id: string
  }>(
    `select id, sequence, request, profile_id, api_key_id from sandbox.task
     where status = 'pending' and created_at <= $1 order by sequence`,
    [before],
  )
  for (const row of rows.filter((task) => isStruck(sandbox, profile, task))) {
    const event = {
      correlationId: row.id,
      request: asBulkRequest(row.request),
      status: 'pending',
      profileId: row.profile_id,
      apiKeyId: row.api_key_id,
    } as const
    const { urgent } = await inTransaction(sandbox.pool, (client) => recordTaskEvents(client, sandbox, [event]))
    if (urgent) sandbox.webhooks.wake()
    await logTaskChaos(sandbox, profile, row.id)
  }
  return rows.map(({ id }) => id)
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

const forgotten = taskProfile.tasksForgotten.name

/** 404 for a request about a task that the service has forgotten, though it works on it as on any other. */
export async function forgetsTaskOf(sandbox: Sandbox, request: FastifyRequest): Promise<Refusal | null> {
  const id = (request.params as { correlationId?: string } | undefined)?.correlationId
  if (!isUuid(id) || (await forgottenAmong(sandbox, [id])).size === 0) return null
  const refused = new RequestRefused(404, 'task_not_found', `There is no task "${id}".`)
  return { name: forgotten, refuse: () => refused }
}

/** The tasks among these that are forgotten, by correlation id. */
export async function forgottenAmong({ pool, chaos }: Sandbox, ids: readonly string[]): Promise<Set<string>> {
  if (!chaos.active().has(forgotten) || ids.length === 0) return new Set()
  const { rows } = await pool.query<{ id: string; sequence: string }>(
    'select id, sequence from sandbox.task where id = any($1::uuid[])',
    [ids],
  )
  return new Set(rows.filter(({ sequence }) => chaos.fate(forgotten, taskOccasion(sequence))).map(({ id }) => id))
}
