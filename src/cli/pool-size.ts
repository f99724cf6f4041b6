import type { Config } from '../config/schema.ts'

/** Of a look: the connection that has its lock, and the one that has its transaction. */
const connectionsOfLook = 2
/** For single statements: of people, of the gate, of the scheduler; and one that listens. */
const connectionsBeside = 5
/** So many looks share one for single statements that a look makes while it has its two. */
const looksPerSpare = 4

/**
 * Connections that a process needs to its database at most, those of its queue aside. Every look that can be under way
 * at once finds the two that it has, and nobody who has one ever waits for all others: a third is borrowed for one
 * statement at a time. Fewer would let looks that have one each wait for one another.
 */
export function poolSize({ engine, pull }: Pick<Config, 'engine' | 'pull'>): number {
  const looks = engine.submissionsAtOnce + pull.pagesAtOnce + 1
  return connectionsOfLook * looks + Math.ceil(looks / looksPerSpare) + connectionsBeside
}
