/** What a figure does over the nights. */
export type Trend = {
  /** The median of the figure. */
  level: number
  /**
   * How much it changes from one night to the next: the median over all pairs of nights, which outliers do not move.
   */
  perNight: number
  /** What that comes to over a hundred nights, as a share of the level. */
  perHundred: number
}

/** The trend of values that were measured once a night (Theil and Sen). Pure. @throws with fewer than two values. */
export function trendOf(values: readonly number[]): Trend {
  const slopes: number[] = []
  for (const [from, first] of values.entries()) {
    for (let to = from + 1; to < values.length; to++) slopes.push(((values[to] ?? 0) - first) / (to - from))
  }
  if (slopes.length === 0) throw new Error('a trend needs two nights')
  const level = middleOf(values)
  const perNight = middleOf(slopes)
  return { level, perNight, perHundred: perNight === 0 ? 0 : (100 * perNight) / Math.max(level, 1e-9) }
}

function middleOf(numbers: readonly number[]): number {
  const sorted = Float64Array.from(numbers).sort()
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2
}
