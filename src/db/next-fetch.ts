/** How many rows to fetch next, and `most` at most, if they hold as much as the last ones did. Pure. */
export function nextFetch(last: readonly { bytes: number }[], bytesAtOnce: number, most: number): number {
  const each = last.reduce((sum, { bytes }) => sum + bytes, 0) / last.length
  return Math.max(1, Math.min(most, Math.floor(bytesAtOnce / each)))
}

/**
 * Bytes of contents, as the database stores them, that are read at a time: bounds memory. A content is compressed to a
 * hundredth at most, and short ones are not compressed.
 */
export const contentBytesAtOnce = 256 * 1024
