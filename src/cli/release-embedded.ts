import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../embedded/open-cluster.ts'

/** Every cluster that this process opened or is about to open. */
const opened = new Set<Promise<Cluster>>()

/**
 * Longer than a clean stop takes on a slow disk; a person who does not want to wait sends a third signal. Milliseconds.
 */
const releaseWithinMs = 30_000

/** Keeps in mind that this process has a cluster, or will have it. */
export function rememberEmbedded(opening: Promise<Cluster>): void {
  opened.add(opening)
}

/** For a process that ends without waiting for its work: a server that nobody releases would outlive it. */
export async function releaseEmbedded(): Promise<void> {
  const released = Promise.allSettled([...opened].map(async (opening) => (await opening).release()))
  await Promise.race([released, delay(releaseWithinMs)])
}
