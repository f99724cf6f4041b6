import PQueue from 'p-queue'
import type { Logger } from 'pino'
import { type ServiceCall, shownCall } from './call-service.ts'
import { HttpError, type KeyDenial, KeyDenied, type KeySaid } from './errors.ts'

/**
 * `call`: go ahead. `probe`: go ahead, and say how it ended, for the breaker of the key is open.
 * `refused`: the breaker is open, so the call is not made.
 */
export type Admission = { kind: 'call' } | { kind: 'probe' } | { kind: 'refused'; refusal: KeyDenial }

export type AdmitOptions = {
  /**
   * The call changes nothing and tells whether the key is accepted: it may be the one that is let through an open
   * breaker.
   */
  mayProbe: boolean
  /** Calls that wait behind this one; several turns can be had together then. */
  waiting: () => number
  signal: AbortSignal
}

/**
 * Decides when a call to the service may begin, together with anyone else who uses the same key. Who makes a client
 * says how: this layer knows no database. A client without a gate keeps a pace of its own.
 */
export type CallGate = {
  /** Waits for the call's turn. What it throws means that nothing was sent. */
  admit(options: AdmitOptions): Promise<Admission>
  /** The service answered 429: nobody is to call for so many milliseconds. */
  throttled(pauseMs: number): Promise<void>
  /** The service answered 401: nobody is to call but a probe. */
  refused(said: KeySaid): Promise<void>
  /** A probe succeeded: the key is accepted again. */
  accepted(): Promise<void>
}

type Passing = {
  gate: CallGate | undefined
  waiting: () => number
  signal: AbortSignal
  logger: Pick<Logger, 'warn'> | undefined
}

/** Milliseconds for which everybody pauses after a 429 that does not say for how long. */
const unsaidPauseMs = 1_000

/**
 * Makes a call once the gate lets it through, and tells the gate what concerns all: 401, 429, a probe that succeeded.
 * What the call throws passes through, whether or not the gate could be told.
 *
 * @throws {NotStarted} when no turn could be had.
 * @throws {KeyDenied} when the breaker of the key is open.
 */
export async function passGate<T>(
  { gate, waiting, signal, logger }: Passing,
  call: ServiceCall,
  make: () => Promise<T>,
): Promise<T> {
  if (gate === undefined) return await make()
  const { mayProbe = false } = call
  const both = call.signal === undefined ? signal : AbortSignal.any([signal, call.signal])
  let admission: Admission
  try {
    admission = await gate.admit({ mayProbe, waiting, signal: both })
    both.throwIfAborted()
  } catch (error) {
    throw new NotStarted(error)
  }
  if (admission.kind === 'refused') throw new KeyDenied(shownCall(call), admission.refusal)

  const tell = async (telling: Promise<void>): Promise<void> => {
    try {
      await telling
    } catch (error) {
      logger?.warn({ url: shownCall(call).url, reason: (error as Error).message }, 'exchange_gate_not_told')
    }
  }
  try {
    const answer = await make()
    if (admission.kind === 'probe') await tell(gate.accepted())
    return answer
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) await tell(gate.refused(error))
    if (error instanceof HttpError && error.status === 429) {
      await tell(gate.throttled(error.retryAfterMs ?? unsaidPauseMs))
    }
    throw error
  }
}

/** The work was given up while it waited for its turn, so nothing of it happened. */
export class NotStarted extends Error {
  readonly code = 'call_not_started'

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

type CallQueue = {
  /**
   * Runs the work in its turn. @throws {NotStarted} when a signal aborts before. What the work throws passes through.
   */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Calls that wait for their turn. */
  waiting(): number
}

type CallQueueOptions = {
  /** Calls in progress at once. */
  concurrency: number
  /** Calls begun per second; null: somebody else keeps the pace. */
  requestsPerSecond: number | null
  signal: AbortSignal
}

/**
 * Shapes what this process asks of the service at once. The specification names no rate limit, so both figures are
 * the configuration's.
 */
export function createCallQueue({ concurrency, requestsPerSecond, signal: closing }: CallQueueOptions): CallQueue {
  const queue = new PQueue({ concurrency, ...(requestsPerSecond === null ? {} : pace(requestsPerSecond)) })
  return {
    waiting: () => queue.size,
    async run(work, own) {
      const signal = own === undefined ? closing : AbortSignal.any([closing, own])
      // p-queue rejects at once when its signal aborts, also for work that runs. Running work hears the signal itself
      // and knows what it had sent by then, so only waiting work is given up here.
      const waiting = new AbortController()
      const giveUp = () => waiting.abort(signal.reason)
      let started = false
      try {
        signal.throwIfAborted()
        signal.addEventListener('abort', giveUp, { once: true })
        return await queue.add(
          () => {
            started = true
            signal.removeEventListener('abort', giveUp)
            return work()
          },
          { signal: waiting.signal },
        )
      } catch (error) {
        throw started ? error : new NotStarted(error)
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
    },
  }
}

/** p-queue counts whole calls per interval, so a rate below one is a longer interval. */
function pace(requestsPerSecond: number): { interval: number; intervalCap: number } {
  return requestsPerSecond >= 1
    ? { interval: 1000, intervalCap: Math.floor(requestsPerSecond) }
    : { interval: Math.ceil(1000 / requestsPerSecond), intervalCap: 1 }
}
