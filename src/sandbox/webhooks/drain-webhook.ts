import PQueue from 'p-queue'
import type { Agent } from 'undici'
import type { Sandbox } from '../running-sandbox.ts'
import { type ClaimedDelivery, claimDeliveries, type Due, isStillQueued } from './delivery-queue.ts'
import { noteAttempt, releaseDelayed } from './note-attempt.ts'
import { afterAttempt } from './retry-ladder.ts'
import { hasSucceeded, sendDelivery } from './send-delivery.ts'
import { signatureOf } from './sign-delivery.ts'

/** Deliveries to one webhook at once. Webhooks do not wait for each other, so a silent receiver delays only its own. */
const atOnce = 8
const claimedAtOnce = 4 * atOnce

type Drain = { webhookId: string; due: () => Due; agent: Agent; signal: AbortSignal }

/** Makes one attempt of everything that is due at one webhook; what chaos reorders comes last, one at a time. */
export async function drainWebhook(sandbox: Sandbox, drain: Drain): Promise<void> {
  for (const reordered of [false, true]) {
    const queue = new PQueue({ concurrency: reordered ? 1 : atOnce })
    const limit = reordered ? 1 : claimedAtOnce
    const claim = () => {
      const { webhookId } = drain
      const now = new Date(sandbox.clock.now())
      return claimDeliveries(sandbox.pool, { ...drain.due(), webhookId, reordered, limit, now })
    }
    let claimed = await claim()
    while (claimed.length > 0 && !drain.signal.aborted) {
      await queue.addAll(claimed.map((delivery) => () => deliver(sandbox, drain, delivery)))
      claimed = drain.signal.aborted ? [] : await claim()
    }
  }
}

/** A delivery whose outcome cannot be noted stays claimed until the next dispatch, and is then sent again. */
async function deliver(sandbox: Sandbox, drain: Drain, delivery: ClaimedDelivery): Promise<void> {
  try {
    await deliverOnce(sandbox, drain, delivery)
  } catch (error) {
    sandbox.logger.warn({ err: error, delivery_id: delivery.id }, 'sandbox_delivery_not_noted')
  }
}

async function deliverOnce(sandbox: Sandbox, drain: Drain, delivery: ClaimedDelivery): Promise<void> {
  const { contract, pool } = sandbox
  // Several are claimed at once, and those before it may have taken their ten seconds each.
  if (drain.signal.aborted || !(await isStillQueued(pool, delivery.id))) return
  const delivered = await attempt(sandbox, drain, delivery, delivery.attempted + 1)
  if (delivery.doubled && delivered) await attempt(sandbox, drain, delivery, delivery.attempted + 2)
  const { success, partialSuccess, error, cancelled } = contract.webhookTopics
  if ([success, partialSuccess, error, cancelled].includes(delivery.type)) await releaseDelayed(pool, delivery)
}

/** One attempt, noted. True when the receiver took the delivery. */
async function attempt(sandbox: Sandbox, drain: Drain, delivery: ClaimedDelivery, attempted: number): Promise<boolean> {
  const { pool, clock, contract, webhooks } = sandbox
  if (drain.signal.aborted) return false
  const at = new Date(clock.now())
  // Receivers compare it with a clock of their own, which knows nothing of this one's pace.
  const timestamp = Math.floor(clock.wallNow() / 1000)
  const names = contract.names.webhookHeaders
  const headers = {
    ...(delivery.header && { [delivery.header.name]: delivery.header.value }),
    'content-type': 'application/json',
    [names.id]: delivery.eventId,
    [names.timestamp]: String(timestamp),
    [names.signature]: signatureOf(delivery.secrets, { id: delivery.eventId, timestamp, body: delivery.body }),
  }
  const { url, body } = delivery
  const { agent, signal } = drain
  const secret = delivery.header?.value ?? null
  const made = await sendDelivery(
    { url, headers, body, secret },
    { agent, allowInsecure: webhooks.allowInsecure, signal },
  )
  if (made === null) return false
  const succeeded = hasSucceeded(made)
  const after = afterAttempt({ succeeded, attempted, isTest: delivery.isTest, now: clock.now() })
  await noteAttempt(pool, delivery, { at, webhookTimestamp: timestamp, attempt: made, after })
  return succeeded
}
