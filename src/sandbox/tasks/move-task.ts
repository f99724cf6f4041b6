import { inTransaction, type Queryable, type Sandbox } from '../running-sandbox.ts'
import type { TaskEvent } from '../webhooks/event-body.ts'
import { recordTaskEvents } from '../webhooks/record-event.ts'
import { asBulkRequest, type Outcome, type StartedTask, type TaskStatus, terminalStatus } from './sandbox-task.ts'

type TaskRow = {
  id: string
  sequence: string
  profile_id: number
  api_key_id: string
  request: string
  status: TaskStatus
  items: number
  started_at: Date
}
const columns = 'id, sequence, profile_id, api_key_id, request, status, items, started_at'

/** Moves every task that was Pending since `before` or longer to Scheduled; with `only`, those of these ids. */
export async function scheduleTasks(
  sandbox: Sandbox,
  { before, now, only }: { before: Date; now: Date; only: readonly string[] | null },
): Promise<void> {
  await moveTasks(
    sandbox,
    `with scheduled as (
       update sandbox.task set status = 'scheduled', scheduled_at = $2
       where status = 'pending' and created_at <= $1 and ($3::uuid[] is null or id = any($3))
       returning *
     )
     select ${columns} from scheduled order by sequence`,
    [before, now, only],
  )
}

/**
 * Moves the oldest waiting task to InProgress, if it was Scheduled since `before` or longer. Never a later one instead:
 * requests of one key are picked up in the order sent.
 */
export async function startNextTask(sandbox: Sandbox, before: Date, now: Date): Promise<StartedTask | null> {
  const [started] = await moveTasks(
    sandbox,
    `with next as (
       select sequence from sandbox.task where status in ('pending', 'scheduled') order by sequence limit 1
     ), started as (
       update sandbox.task t set status = 'inProgress', started_at = $2, attempts = attempts + 1
       from next where t.sequence = next.sequence and status = 'scheduled' and scheduled_at <= $1
       returning t.*
     ), logged as (
       insert into sandbox.request_log (at, profile_id, method, path, correlation_id, phase, status, identifiers)
       select $2, profile_id, method, path, id, 'picked_up', $3, identifiers from started
     )
     select ${columns} from started`,
    [before, now, sandbox.contract.taskStatuses.inProgress],
  )
  return started ? asStarted(started) : null
}

/** Re-queues what was InProgress when the sandbox stopped, or one task: it enters the same status once more. */
export async function resumeTasks(sandbox: Sandbox, only: string | null): Promise<StartedTask[]> {
  const resumed = await moveTasks(
    sandbox,
    `with resumed as (
       update sandbox.task set status = 'inProgress', attempts = attempts + 1
       where status = 'inProgress' and ($1::uuid is null or id = $1)
       returning *
     ), logged as (
       insert into sandbox.request_log (at, profile_id, method, path, correlation_id, phase, status, identifiers)
       select $2, profile_id, method, path, id, 'picked_up', $3, identifiers from resumed order by sequence
     )
     select ${columns} from resumed order by sequence`,
    [only, new Date(sandbox.clock.now()), sandbox.contract.taskStatuses.inProgress],
  )
  return resumed.map(asStarted)
}

/** Since when the oldest Pending task is that, and the head of the line is Scheduled; null where there is none. */
export async function waitingSince(db: Queryable): Promise<{ pending: number | null; scheduled: number | null }> {
  const { rows } = await db.query<{ pending: Date | null; scheduled: Date | null }>(
    `select min(created_at) filter (where status = 'pending') as pending,
            (array_agg(scheduled_at order by sequence))[1] as scheduled
     from sandbox.task where status in ('pending', 'scheduled')`,
  )
  return { pending: rows[0]?.pending?.getTime() ?? null, scheduled: rows[0]?.scheduled?.getTime() ?? null }
}

/** Writes the terminal status with what failed, and forgets the body, at once. */
export async function finishTask(sandbox: Sandbox, id: string, outcome: Outcome): Promise<void> {
  const { rowErrors, generalErrors } = outcome
  await endTask(sandbox, {
    id,
    from: ['inProgress'],
    status: terminalStatus(outcome),
    at: new Date(sandbox.clock.now()),
    generalErrors: generalErrors.length === 0 ? null : JSON.stringify(generalErrors),
    rowErrors: rowErrors.length === 0 ? null : JSON.stringify(rowErrors),
  })
}

/** Cancels a task of the profile that has not started processing; false when it has, or has ended. */
export async function cancelTask(sandbox: Sandbox, id: string): Promise<boolean> {
  return endTask(sandbox, {
    id,
    from: ['pending', 'scheduled'],
    status: 'cancelled',
    at: new Date(sandbox.clock.now()),
    generalErrors: null,
    rowErrors: null,
  })
}

type End = {
  id: string
  from: TaskStatus[]
  status: TaskStatus
  at: Date
  generalErrors: string | null
  rowErrors: string | null
}

async function endTask(sandbox: Sandbox, end: End): Promise<boolean> {
  const ended = await moveTasks(
    sandbox,
    `with ended as (
       update sandbox.task set status = $2, finished_at = $3, general_errors = $4, row_errors = $5
       where id = $1 and status = any($6)
       returning *
     ), forgotten as (
       delete from sandbox.task_body where task_id in (select id from ended)
     ), logged as (
       insert into sandbox.request_log (at, profile_id, method, path, correlation_id, phase, status, identifiers)
       select $3, profile_id, method, path, id, 'terminal', $7, identifiers from ended
     )
     select ${columns} from ended`,
    [end.id, end.status, end.at, end.generalErrors, end.rowErrors, end.from, sandbox.contract.taskStatuses[end.status]],
  )
  return ended.length === 1
}

/**
 * Runs a statement that moves tasks and gives the moved ones, and records an event for each, in one transaction.
 * Every task was submitted with an API key, so each may fire; the initial Pending is no move.
 */
async function moveTasks(sandbox: Sandbox, statement: string, values: unknown[]): Promise<TaskRow[]> {
  const { moved, urgent } = await inTransaction(sandbox.pool, async (client) => {
    const { rows } = await client.query<TaskRow>(statement, values)
    return { moved: rows, ...(await recordTaskEvents(client, sandbox, rows.map(asEvent))) }
  })
  if (urgent) sandbox.webhooks.wake()
  return moved
}

function asEvent(row: TaskRow): TaskEvent {
  return {
    correlationId: row.id,
    request: asBulkRequest(row.request),
    status: row.status,
    profileId: row.profile_id,
    apiKeyId: row.api_key_id,
  }
}

function asStarted(row: TaskRow): StartedTask {
  return {
    id: row.id,
    sequence: Number(row.sequence),
    profileId: row.profile_id,
    request: asBulkRequest(row.request),
    items: row.items,
    startedAt: row.started_at.getTime(),
  }
}
