/** Bounds on one page. Each keeps memory independent of what the service, or somebody in its place, sends. */
export type PageLimits = {
  /** Levels of nesting anywhere on the page; the specification's deepest has 6. */
  maxDepth: number
  /** Size of one list element (a company with all of its calculators): its characters, and 8 more per token. */
  maxElementSize: number
  /** Rows kept per page of what was left out. The count stays exact. */
  maxQuarantineRows: number
}

/**
 * 64 levels leave room for fields to come. 16 Mi is a company of some 10,000 calculators, and at most about 200 MB
 * of memory for hostile input: too low refuses a real page, too high lets a broken one exhaust the heap.
 */
export const defaultPageLimits: PageLimits = {
  maxDepth: 64,
  maxElementSize: 16 * 1024 * 1024,
  maxQuarantineRows: 1_000,
}
