/** Rows fetched first, while nobody knows how long they are. */
export const firstCount = 100

/**
 * Bytes of text that a batch should have. Batches that outlive a collection or two of young garbage are moved with it:
 * with 2 MB the process grew by 200 MB, with a quarter of one by 30, and neither took longer.
 */
const batchBytes = 65_536

/** Rows to fetch next: as many as make a batch by the length of those before, and at most `most`. Pure. */
export function nextCount(rows: readonly (readonly (string | null)[])[], most: number): number {
  const step = Math.ceil(rows.length / 16)
  let bytes = 0
  let looked = 0
  for (let at = 0; at < rows.length; at += step) {
    looked += 1
    for (const value of rows[at] ?? []) bytes += 16 + (value?.length ?? 0)
  }
  const fitting = Math.floor((batchBytes * looked) / Math.max(bytes, 1))
  // Twice as many as before at most: a batch of short rows says little of the next.
  return Math.max(1, Math.min(most, fitting, Math.max(firstCount, rows.length * 2)))
}
