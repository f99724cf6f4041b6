import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Database } from '../../db/database.ts'
import {
  claimProbe,
  closeBreaker,
  type DeniedKey,
  deniedKey,
  openBreaker,
  pauseCalls,
  reserveCalls,
} from '../../db/service-key/service-key.ts'
import type { Admission, AdmitOptions, CallGate } from '../../exchange/pass-gate.ts'

type SharedGateOptions = {
  db: Database
  /** Of the API key: keyFingerprint. */
  fingerprint: string
  /** Calls begun per second by all processes that use the key and this database. Asked for again each time. */
  requestsPerSecond: () => number
  /** Between two probes of a key that the service does not accept, no matter who makes them. */
  probeIntervalMs: number
  /** The first probe of this process does not wait for its time: a person waits for the answer. */
  probeAtOnce: boolean
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
}

export type SharedGate = CallGate & {
  /** What the service said when it did not accept the key; null while the breaker is closed. */
  refusal(): Promise<DeniedKey | null>
}

/**
 * The longest that turns reserved together may reach, in milliseconds. Longer blocks cost fewer statements; but a pause
 * reaches a process only with its next block, and others wait behind it.
 */
const blockMs = 250

/** A turn that is used later than this would fall together with those of others, so it is given up. */
const staleMs = 100

/**
 * The gate of all processes that use one API key and one database: a row of `service_key` says when the next call may
 * begin. While calls queue up, several turns are reserved by one statement.
 */
export function createSharedGate(options: SharedGateOptions): SharedGate {
  const { db, fingerprint, requestsPerSecond, probeIntervalMs, logger } = options
  let probeAtOnce = options.probeAtOnce
  /** When the turns that this process has reserved begin, by its monotonic clock. */
  let turns: number[] = []
  /** Calls that could begin at once if they had a turn. */
  let asking = 0
  /** When turns were taken, as far back as a block reaches. */
  let taken: number[] = []
  let reserving: Promise<boolean> | null = null
  let pauses = 0
  let pausing: Promise<unknown> = Promise.resolve()

  /** False while the breaker is open. */
  async function reserve(waiting: number): Promise<boolean> {
    await pausing
    const era = pauses
    // Calls that queue up behind slow ones cannot use a turn each, and one that goes stale is lost to everybody: so no
    // more are reserved ahead than were used of late.
    const ahead = Math.min(asking + waiting, taken.length)
    const spacingMs = 1000 / requestsPerSecond()
    const mostTurns = Math.max(1, Math.floor(blockMs / spacingMs))
    const calls = Math.min(Math.max(1, asking, ahead), mostTurns)
    const inMs = await reserveCalls(db, fingerprint, calls, spacingMs)
    if (inMs === null) return false
    const first = performance.now() + inMs
    // Reserved before a pause that was asked for meanwhile: they would begin too early.
    if (era === pauses) turns.push(...Array.from({ length: calls }, (_, at) => first + at * spacingMs))
    return true
  }

  /** Null while the breaker is open. */
  async function nextTurn(waiting: () => number): Promise<number | null> {
    asking += 1
    try {
      for (;;) {
        const now = performance.now()
        turns = turns.filter((turn) => turn > now - staleMs)
        const turn = turns.shift()
        if (turn !== undefined) {
          taken = [...taken.filter((at) => at > now - blockMs), now]
          return turn
        }
        reserving ??= reserve(waiting()).finally(() => {
          reserving = null
        })
        if (!(await reserving)) return null
      }
    } finally {
      asking -= 1
    }
  }

  /** Null while the breaker is closed after all. */
  async function throughOpenBreaker(mayProbe: boolean): Promise<Admission | null> {
    const refusal = await deniedKey(db, fingerprint)
    if (refusal === null) return null
    if (mayProbe) {
      const atOnce = probeAtOnce
      probeAtOnce = false
      if (await claimProbe(db, fingerprint, probeIntervalMs, atOnce)) return { kind: 'probe' }
    }
    return { kind: 'refused', refusal }
  }

  async function admit({ mayProbe, waiting, signal }: AdmitOptions): Promise<Admission> {
    for (;;) {
      signal.throwIfAborted()
      const turn = await nextTurn(waiting)
      if (turn === null) {
        const admission = await throughOpenBreaker(mayProbe)
        if (admission !== null) return admission
        continue
      }
      const era = pauses
      const waitMs = turn - performance.now()
      if (waitMs > 0) await delay(waitMs, undefined, { signal })
      if (era === pauses) return { kind: 'call' }
    }
  }

  return {
    admit,
    throttled: async (pauseMs) => {
      pauses += 1
      turns = []
      const paused = pauseCalls(db, fingerprint, pauseMs)
      pausing = paused.catch(() => {})
      logger.warn({ pause_ms: pauseMs }, 'exchange_paused')
      await paused
    },
    refused: async (said) => {
      turns = []
      const opened = await openBreaker(db, fingerprint, said, probeIntervalMs)
      if (opened) logger.error({ code: said.errorCode, reason: said.serviceMessage }, 'api_key_refused')
    },
    accepted: async () => {
      const since = await closeBreaker(db, fingerprint)
      if (since !== null) logger.info({ refused_since: since }, 'api_key_accepted_again')
    },
    refusal: () => deniedKey(db, fingerprint),
  }
}

/**
 * Names an API key of a service so that processes which use the same one find each other, and the key is not given
 * away. Pure. Short on purpose: enough to tell keys apart, too little to hold a guess against. Of the address only the
 * origin counts: ledgers hold what was made of it, and services under one host may well share a limit.
 */
export function keyFingerprint(apiKey: string, baseUrl: string): string {
  const { origin } = new URL(baseUrl)
  return createHmac('sha256', apiKey).update(`nightferry service key ${origin}`).digest('hex').slice(0, 16)
}
