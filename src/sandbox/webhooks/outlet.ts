import { systemLookup, type TargetLookup } from './judge-target.ts'

/** What the parts that record events and configure webhooks share with the one that delivers. */
export type WebhookOutlet = {
  /** Whether http and every network are allowed, for receivers on one's own machine. */
  readonly allowInsecure: boolean
  readonly lookup: TargetLookup
  /** Something is to be delivered at once. Call it after the commit. */
  wake(): void
  /** Calls `listener` at each wake-up from now on; the returned function ends that. */
  onWake(listener: () => void): () => void
}

export function createOutlet(options: { allowInsecure: boolean; lookup?: TargetLookup }): WebhookOutlet {
  const listeners = new Set<() => void>()
  return {
    allowInsecure: options.allowInsecure,
    lookup: options.lookup ?? systemLookup,
    wake: () => {
      for (const listener of listeners) listener()
    },
    onWake: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
