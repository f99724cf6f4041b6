import type { Sandbox } from '../running-sandbox.ts'
import type { Outcome } from '../tasks/sandbox-task.ts'

/** The task that a processor works on. */
export type Work = { sandbox: Sandbox; taskId: string; profileId: number; signal: AbortSignal }

/** What an item that failed is told: a stable reason, and a message for people. */
export type Failure = { reason: string; message: string }

export function emptyOutcome(): Outcome {
  return { accepted: 0, failed: 0, rowErrors: [], generalErrors: [] }
}

/** Slices of `size`; stops with the signal's reason when the sandbox is stopping. */
export function* slices<T>(items: readonly T[], size: number, signal: AbortSignal): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) {
    signal.throwIfAborted()
    yield items.slice(start, start + size)
  }
}
