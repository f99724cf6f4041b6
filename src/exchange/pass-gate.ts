import type { Logger } from 'pino'
import type { Admission, CallGate } from './call-gate.ts'
import { NotStarted } from './call-queue.ts'
import { type ServiceCall, shownCall } from './call-service.ts'
import { HttpError, KeyDenied } from './errors.ts'

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
