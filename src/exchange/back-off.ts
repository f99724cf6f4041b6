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
 * service asks for is a floor, with a tenth of jitter above it for the same reason.
 */
export function backOffMs(backOff: BackOff, attempt: number, random: number, askedMs: number | null): number {
  if (askedMs !== null) return Math.round(Math.min(askedMs, backOff.maxRetryAfterMs) * (1 + random / 10))
  const bound = Math.min(backOff.baseMs * 2 ** (attempt - 1), backOff.maxMs)
  return Math.round(bound * (0.5 + random / 2))
}
