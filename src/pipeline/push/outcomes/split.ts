/** One request of those that a request was split into, or the first of them itself. */
export type Part = {
  /** How often the first request was split to come to this one; 0: it is the first one. */
  depth: number
  /**
   * `open`: its task has not ended. `passed`: the service got through with it. `failed`: its task ended in Error and
   * names no row. `nothing`: it ended in another way, which says nothing about its rows.
   */
  fate: 'open' | 'passed' | 'failed' | 'nothing'
  /** Whether it has been judged: until then a part that failed may still have halves. */
  settled: boolean
}

export type FailedPart = {
  rows: number
  depth: number
  /** Every request that comes of the same first one, that one and this one included. */
  family: readonly Part[]
  /** `push.maxSplits`. */
  maxSplits: number
}

/** What to do about a request whose task ended in Error without naming a row. */
export type SplitVerdict =
  /** Its rows are sent again in two halves. */
  | 'split'
  /** It is one row, which alone can be what the service fails over. */
  | 'alone'
  /** Every part failed alike, so it is not the rows. */
  | 'not_the_rows'
  /** The first request was split as often as is allowed. */
  | 'too_many'
  /** The other parts decide, and have not ended. */
  | 'wait'

/** The levels on which every part must fail before the rows count as not the reason. */
const tellingDepth = 2

/**
 * Judges a request whose task ended in Error without naming a row. Pure.
 *
 * A row that the service fails over is found by halves: the request that holds it fails, the others pass. When the
 * first request fails, and both halves, and all of their halves, it is plainly something else, and splitting on would
 * only send more of what fails.
 */
export function judgeFailedPart({ rows, depth, family, maxSplits }: FailedPart): SplitVerdict {
  if (depth >= tellingDepth) {
    const telling = family.filter((part) => part.depth > 0 && part.depth <= tellingDepth)
    if (!family.some(({ depth: level, fate }) => level > 0 && fate === 'passed')) {
      const outstanding = telling.some((part) => part.fate === 'open' || (part.depth < tellingDepth && !part.settled))
      return outstanding ? 'wait' : 'not_the_rows'
    }
  }
  if (rows === 1) return 'alone'
  return family.length - 1 + 2 > maxSplits ? 'too_many' : 'split'
}

/**
 * Cuts rows in two, as evenly as it goes, in their order. Rows of one target stay together, because two requests that
 * write the same company must not run at once; only where nothing but one target is left are its rows cut. Pure.
 */
export function cutInHalves<T extends { target: string }>(rows: readonly T[]): [T[], T[]] {
  const targets = [...Map.groupBy(rows, ({ target }) => target).values()]
  if (targets.length < 2) {
    const middle = Math.ceil(rows.length / 2)
    return [rows.slice(0, middle), rows.slice(middle)]
  }
  let first = 0
  let cut = 0
  // The cut that leaves the larger half smallest; at least one target on either side.
  do first += targets[cut++]?.length ?? 0
  while (cut < targets.length - 1 && first + (targets[cut]?.length ?? 0) <= rows.length / 2)
  return [targets.slice(0, cut).flat(), targets.slice(cut).flat()]
}
