/** How much of what is known of something a page, or a search, has shown. */
type Shown = { seen: number; known: number }

/**
 * Whether so little of what is known was shown that its absence is suspicious.
 *
 * @param minSeenShare 0 to 1. Divided, not multiplied: 55 of 100 is not below 0.55, while 100 times 0.55 is above 55.
 *   Of nothing known no share is.
 */
export function isSuspicious({ seen, known }: Shown, minSeenShare: number): boolean {
  return seen / known < minSeenShare
}

/**
 * The same, where there is more that was shown, which costs something to count: companies that are as they were. It is
 * counted only if it can make a difference, and no further than it does.
 *
 * @param countMore counts what else is known and was shown, up to a limit.
 */
export async function isSuspiciousWith(
  shown: Shown,
  minSeenShare: number,
  countMore: (limit: number) => Promise<number>,
): Promise<boolean> {
  if (!isSuspicious(shown, minSeenShare)) return false
  if (minSeenShare >= 1) return true
  const enough = Math.ceil((minSeenShare * shown.known - shown.seen) / (1 - minSeenShare)) + 1
  const more = await countMore(enough)
  return isSuspicious({ seen: shown.seen + more, known: shown.known + more }, minSeenShare)
}
