import { AnswerFormatError, HttpError, proxyDeniedCode, TransportError } from './errors.ts'

export type BackOff = {
  /** Attempts in all, the first included. */
  attempts: number
  /** Upper bound of the first wait; each further bound doubles. */
  baseMs: number
  /** Upper bound of every wait that we choose. */
  maxMs: number
  /** Upper bound of a wait that the service asks for by Retry-After. */
  maxRetryAfterMs: number
}

/** Five seconds of trouble in all: a longer outage is for the caller, who knows what can wait. */
export const defaultBackOff: BackOff = { attempts: 4, baseMs: 500, maxMs: 10_000, maxRetryAfterMs: 60_000 }

/**
 * Milliseconds to wait after failed attempt number `attempt` (from 1). Pure; `random` is in [0, 1).
 *
 * Between half of the bound and all of it, so that clients that failed together do not return together. What the
 * service asks for is a floor, with a tenth of jitter above it for the same reason. Where it asks for no wait, we wait
 * as after a first failure (specification, What the service does, which forbids tight loops).
 */
export function backOffMs(backOff: BackOff, attempt: number, random: number, askedMs: number | null): number {
  if (askedMs !== null) {
    const least = backOff.baseMs * (0.5 + random / 2)
    return Math.round(Math.max(least, Math.min(askedMs, backOff.maxRetryAfterMs) * (1 + random / 10)))
  }
  const bound = Math.min(backOff.baseMs * 2 ** (attempt - 1), backOff.maxMs)
  return Math.round(bound * (0.5 + random / 2))
}

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
  return error instanceof TransportError && error.code !== proxyDeniedCode
}

/** The three date forms of RFC 9110; `Date.parse` alone would also take "2 days" or "-5". */
const httpDate = /^(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?,? /

/** Fractions are no part of the RFC, but services send them, and they can mean one thing only. */
const seconds = /^\d+(\.\d+)?$/

/**
 * Milliseconds that a `Retry-After` header asks for: seconds, or an HTTP date. Pure.
 *
 * Of several headers, or several numbers of seconds joined by commas, the longest counts: waiting for too long only
 * delays. Undefined when nothing of it makes sense. Never above `capMs`, so that no answer can stop a night; a date in
 * the past is 0.
 */
export function retryAfterMs(
  header: string | readonly string[] | undefined,
  nowMs: number,
  capMs: number,
): number | undefined {
  const asked = (typeof header === 'string' ? [header] : (header ?? []))
    .flatMap((text) => (/^[\d\s.,]+$/.test(text) ? text.split(',') : [text]))
    .map((text) => oneMs(text.trim(), nowMs))
    .filter((ms) => ms !== undefined)
  return asked.length === 0 ? undefined : Math.min(Math.max(...asked), capMs)
}

function oneMs(text: string, nowMs: number): number | undefined {
  if (seconds.test(text)) return Math.ceil(Number(text) * 1000)
  if (!httpDate.test(text)) return undefined
  // The asctime form names no zone and means GMT; Date.parse would read it as local time.
  const dateMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(dateMs) ? undefined : Math.max(dateMs - nowMs, 0)
}
