import type { Bench } from '../bench.ts'
import type { Check } from '../check.ts'
import { webhooks } from '../evidence/webhook-set-up.ts'
import { notObserved, type Observation } from '../observation.ts'

/** A check that reads deliveries at our own receiver, where one could be subscribed. */
export function withEvents(check: (bench: Bench) => Promise<Observation>): Check {
  return async (bench) => {
    const opened = await webhooks(bench)
    return typeof opened === 'string' ? notObserved(opened) : await check(bench)
  }
}
