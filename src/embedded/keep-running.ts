import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import type { Cluster } from './open-cluster.ts'

type Keeper = {
  /** Aborts, with the error as its reason, when the server has ended and cannot be had back. */
  lost: AbortSignal
  /** Ends the care. A start that is under way is waited for. */
  stop: () => Promise<void>
}

/** So soon a server that died is missed: its clients notice at once, and wait. Milliseconds. */
const lookMs = 1_000
/** A server that dies more often than this is not helped by starting it: its disk or its memory is short. */
const restartsAtMost = 5
const withinMs = 600_000

/** Starts the server of a cluster again when it ends, whichever of the processes that share it sees that first. */
export function keepRunning(cluster: Cluster, onRestart: () => void, intervalMs: number = lookMs): Keeper {
  const stopping = new AbortController()
  const lost = new AbortController()
  const restarts: number[] = []
  const look = async () => {
    if (!(await cluster.ensureRunning())) return
    onRestart()
    const now = performance.now()
    restarts.push(now)
    if (restarts.filter((at) => now - at < withinMs).length < restartsAtMost) return
    throw new EmbeddedPostgresError(
      `PostgreSQL on ${cluster.folder} has ended ${restartsAtMost} times in ${withinMs / 60_000} minutes. See why in server.log there: often it is the system that ends it, for want of memory.`,
    )
  }
  const keep = async () => {
    while (!stopping.signal.aborted && !lost.signal.aborted) {
      await delay(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      if (stopping.signal.aborted) return
      await look().catch((error: unknown) => lost.abort(error))
    }
  }
  const keeping = keep()
  return {
    lost: lost.signal,
    stop: async () => {
      stopping.abort()
      await keeping
    },
  }
}
