import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox } from '../running-sandbox.ts'
import { deliveryChaos } from './delivery-chaos.ts'

/** How long the answer to a request waits, in milliseconds of real time: shorter than any client gives up. */
const longestMs = 5000
const lookAgainMs = 20

/**
 * Where chaos makes webhooks early: holds the answer to a bulk request back until a delivery about its task was
 * attempted, so that the receiver hears of the correlation id before the client does. Gives up when the task has ended
 * without one, and after five seconds; never throws.
 */
export async function awaitEarlyDelivery(sandbox: Sandbox, correlationId: string): Promise<void> {
  if (!sandbox.chaos.active().has(deliveryChaos.early)) return
  const givenUp = AbortSignal.timeout(longestMs)
  while (!givenUp.aborted && (await isAwaited(sandbox, correlationId).catch(() => false))) {
    await delay(lookAgainMs, undefined, { signal: givenUp }).catch(() => undefined)
  }
}

/** Whether an early delivery is under way, or may still come: the task moves on, and a webhook would hear of it. */
async function isAwaited({ pool }: Sandbox, correlationId: string): Promise<boolean> {
  const { rows } = await pool.query<{ attempted: boolean; under_way: boolean; may_come: boolean }>(
    `with early as (
       select status, attempted from sandbox.webhook_delivery where about = $1 and $2 = any(chaos)
     )
     select
       exists (select 1 from early where attempted > 0) as attempted,
       exists (select 1 from early where status = 'queued') as under_way,
       finished_at is null and exists (
         select 1 from sandbox.webhook w where w.profile_id = task.profile_id and w.enabled) as may_come
     from sandbox.task where id = $1`,
    [correlationId, deliveryChaos.early],
  )
  const found = rows[0]
  return found !== undefined && !found.attempted && (found.under_way || found.may_come)
}
