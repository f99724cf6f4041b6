import { randomUUID } from 'node:crypto'
import PQueue from 'p-queue'
import type { BulkRequest } from '../../exchange/contract.ts'
import type { Sandbox } from '../running-sandbox.ts'

type NewTask = {
  request: BulkRequest
  profileId: number
  apiKeyId: string
  method: string
  path: string
  items: number
  identifiers: string[]
  body: Uint8Array
  /** The profiles of chaos that struck the request, or null. */
  chaos: string[] | null
}

/**
 * Makes the function that queues requests. Requests of one key are stored one after the other, so that their
 * sequence numbers, which decide who is picked up first, follow the order of arrival.
 * The returned function gives the correlation id once the task, its body and its line in the log are committed.
 */
export function createAcceptance(sandbox: Sandbox): (task: NewTask) => Promise<string> {
  const queues = new Map<string, PQueue>()
  return async (task) => {
    const queue = queues.get(task.apiKeyId) ?? new PQueue({ concurrency: 1 })
    queues.set(task.apiKeyId, queue)
    return queue.add(() => insertTask(sandbox, task))
  }
}

async function insertTask({ pool, contract, clock }: Sandbox, task: NewTask): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `with accepted as (
       insert into sandbox.task
         (id, profile_id, api_key_id, request, method, path, status, items, identifiers, created_at)
       values ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9)
       returning *
     ), kept as (
       insert into sandbox.task_body (task_id, body) values ($1, $10)
     )
     insert into sandbox.request_log
       (at, profile_id, method, path, http_status, correlation_id, phase, status, identifiers, key_sent, chaos)
     select created_at, profile_id, method, path, 200, id, 'received', $11, identifiers, true, $12 from accepted`,
    [
      id,
      task.profileId,
      task.apiKeyId,
      task.request,
      task.method,
      task.path,
      task.items,
      task.identifiers,
      new Date(clock.now()),
      Buffer.from(task.body.buffer, task.body.byteOffset, task.body.byteLength),
      contract.taskStatuses.pending,
      task.chaos,
    ],
  )
  return id
}
