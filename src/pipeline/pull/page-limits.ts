/** Bounds on one page. Each keeps memory independent of what the service, or somebody in its place, sends. */
export type PageLimits = {
  /** Levels of nesting anywhere on the page; the specification's deepest has 6. */
  maxDepth: number
  /** Size of one list element (a company with all of its calculators): its characters, and 8 more per token. */
  maxElementSize: number
  /** Rows kept per page of what was left out. The count stays exact. */
  maxQuarantineRows: number
}
