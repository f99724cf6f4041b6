import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../embedded/open-cluster.ts'

/** Every cluster that this process opened or is about to open. */
const opened = new Set<Promise<Cluster>>()

/** Keeps in mind that this process has a cluster, or will have it. */
export function rememberEmbedded(opening: Promise<Cluster>): void {
  opened.add(opening)
}

/**
 * For a process that ends without waiting for its work: a server that nobody releases would outlive it.
 * @param withinMs waited for at most. A server that was told to stop goes on doing so, and one that was not is found by
 * the next start.
 */
export async function releaseEmbedded(withinMs: number): Promise<void> {
  const released = Promise.allSettled([...opened].map(async (opening) => (await opening).release()))
  await Promise.race([released, delay(withinMs)])
}
