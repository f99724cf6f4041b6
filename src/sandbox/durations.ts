import { createHash } from 'node:crypto'
import { type BulkRequest, bulkRequests } from '../exchange/contract.ts'

export type Processing = { baseMs: number; perItemUs: number }

/** How long a task stays in each status at least. */
export type Durations = {
  /** Milliseconds in Pending. Zero makes the status too short for any poller to see. */
  pendingMs: number
  /** Milliseconds in Scheduled. */
  scheduledMs: number
  /** Milliseconds, and microseconds per item, in InProgress. */
  processing: Record<BulkRequest, Processing>
  /**
   * 0 to 1: the share by which the time in InProgress varies, up or down, so that equal requests overtake each other.
   */
  jitter: number
}

/** What a caller may set; the rest stays at its default. */
export type DurationSettings = {
  pendingMs?: number
  scheduledMs?: number
  processing?: Partial<Record<BulkRequest, Partial<Processing>>>
  jitter?: number
}

/** Long enough for a poll to see every status, short enough for a demonstration. */
const usual: Processing = { baseMs: 50, perItemUs: 5 }

export function durationsWith(settings: DurationSettings = {}): Durations {
  const processing = Object.fromEntries(
    bulkRequests.map((request) => [request, { ...usual, ...settings.processing?.[request] }]),
  ) as Record<BulkRequest, Processing>
  return {
    pendingMs: settings.pendingMs ?? 20,
    scheduledMs: settings.scheduledMs ?? 20,
    processing,
    jitter: settings.jitter ?? 0.5,
  }
}

/** Milliseconds that a task stays InProgress: the same for the same seed, sequence number and size. */
export function processingMs(
  durations: Durations,
  task: { request: BulkRequest; items: number; sequence: number },
  seed: number,
): number {
  const { baseMs, perItemUs } = durations.processing[task.request]
  const random = createHash('sha256').update(`duration ${seed} ${task.sequence}`).digest().readUInt32BE(0) / 0xffffffff
  return (baseMs + (perItemUs * task.items) / 1000) * (1 + durations.jitter * (2 * random - 1))
}
