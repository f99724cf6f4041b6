import { type BackOff, backOffMs } from './back-off.ts'
import { AnswerFormatError, HttpError, TransportError } from './errors.ts'

type RetrySettings = {
  backOff: BackOff
  random: () => number
  /** Rejects when nothing more is to be tried. */
  wait: (ms: number) => Promise<unknown>
  onRetry: (error: Error, attempt: number, waitMs: number) => void
}

/**
 * Repeats a read on a broken transport, 429, 5xx and an answer that is not the promised one, with growing, jittered
 * waits. Never for anything that writes.
 * @throws what the last attempt threw; when the wait is given up, what the attempt before it threw.
 */
export async function retryRead<T>(read: () => Promise<T>, settings: RetrySettings): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (error) {
      if (!isPassing(error) || attempt >= settings.backOff.attempts) throw error
      const askedMs = error instanceof HttpError ? error.retryAfterMs : null
      const waitMs = backOffMs(settings.backOff, attempt, settings.random(), askedMs)
      settings.onRetry(error, attempt, waitMs)
      try {
        await settings.wait(waitMs)
      } catch {
        throw error
      }
    }
  }
}

/**
 * A page of HTML with a 200 is what a proxy answers while the service restarts, so it passes like a 503. An answer that
 * is longer than may be read is as long the next time.
 */
function isPassing(error: unknown): error is Error {
  if (error instanceof HttpError) return error.code === 'exchange_throttled' || error.code === 'exchange_failed'
  if (error instanceof AnswerFormatError) return !error.tooLong
  return error instanceof TransportError
}
