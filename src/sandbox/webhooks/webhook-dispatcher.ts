import { keepTime } from '../read-world.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { forgetDeliveries, recoverDeliveries, webhooksWithDue } from './delivery-queue.ts'
import { drainWebhook } from './drain-webhook.ts'
import { createDeliveryAgent } from './send-delivery.ts'

type WebhookDispatcher = {
  /** Breaks off what is under way and resolves when nothing runs. What was broken off is sent again after a restart. */
  stop(): Promise<void>
}

type WebhookDispatcherOptions = {
  /** Milliseconds of the sandbox's clock from one dispatch to the next; the specification says about a minute. */
  dispatchMs: number
}

/** How long the delivery log is kept; specification, Limits. */
const logKeptMs = 30 * 24 * 60 * 60 * 1000

/** Pause after the database failed, as long as the dispatcher of tasks makes it. */
const retryPauseMs = 250

/**
 * Delivers events: at each dispatch what is due, and in between only what cannot wait (the Test button, a re-send, an
 * event that chaos makes early). At least once, in no order. Specification, Events.
 */
export function startWebhookDispatcher(sandbox: Sandbox, options: WebhookDispatcherOptions): WebhookDispatcher {
  const { pool, clock, logger, webhooks } = sandbox
  const stopping = new AbortController()
  const agent = createDeliveryAgent(webhooks)
  /** Webhooks whose due deliveries are being sent. Each has one of these at a time. */
  const draining = new Map<string, Promise<void>>()
  /** Those of them that a dispatch came for while they were at it, perhaps too late for it. */
  const dispatchedMeanwhile = new Set<string>()
  let lastDispatch = new Date(0)
  let interrupt = new AbortController()
  let woken = false

  const wake = () => {
    woken = true
    interrupt.abort()
  }

  const drain = (webhookId: string, urgentOnly: boolean) => {
    const due = () => ({ until: lastDispatch, urgentOnly })
    const drained = drainWebhook(sandbox, { webhookId, due, agent, signal: stopping.signal })
      .catch((error: unknown) => logger.error({ err: error, webhook_id: webhookId }, 'sandbox_webhook_drain_failed'))
      .finally(() => {
        draining.delete(webhookId)
        if (dispatchedMeanwhile.delete(webhookId) && !stopping.signal.aborted) drain(webhookId, false)
        else wake()
      })
    draining.set(webhookId, drained)
  }

  const look = async (dispatching: boolean) => {
    if (dispatching) {
      // A process that is killed keeps no time at its end, and what is queued is due by this clock.
      if (clock.now() > clock.wallNow()) await keepTime(pool, clock.now())
      await forgetDeliveries(pool, new Date(clock.now() - logKeptMs))
      await recoverDeliveries(pool, [...draining.keys()])
      lastDispatch = new Date(clock.now())
      for (const webhookId of draining.keys()) dispatchedMeanwhile.add(webhookId)
    }
    const due = { until: lastDispatch, urgentOnly: !dispatching }
    for (const webhookId of await webhooksWithDue(pool, due, [...draining.keys()])) {
      if (!draining.has(webhookId)) drain(webhookId, !dispatching)
    }
  }

  const loop = async () => {
    let dispatchAt = clock.now()
    while (!stopping.signal.aborted) {
      woken = false
      const dispatching = clock.now() >= dispatchAt
      if (dispatching) dispatchAt = clock.now() + options.dispatchMs
      try {
        await look(dispatching)
      } catch (error) {
        logger.error({ err: error }, 'sandbox_webhook_dispatch_failed')
        dispatchAt = clock.now() + retryPauseMs
      }
      if (woken || stopping.signal.aborted) continue
      interrupt = new AbortController()
      await clock.wait(Math.max(0, dispatchAt - clock.now()), interrupt.signal)
    }
  }

  const unsubscribe = webhooks.onWake(wake)
  const looping = loop()
  return {
    stop: async () => {
      unsubscribe()
      stopping.abort()
      wake()
      await looping
      await Promise.all(draining.values())
      await agent.destroy()
    },
  }
}
