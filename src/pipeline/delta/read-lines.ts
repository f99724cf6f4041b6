const newline = 10

/**
 * The lines of a byte stream, as many at a time as end within one of its pieces; without their line ends. A character
 * whose bytes lie in two pieces stays whole, because a line is read only when its end is there.
 */
export async function* readLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let begun: Buffer[] = []
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(newline)
    if (end === -1) {
      if (piece.length > 0) begun.push(piece)
      continue
    }
    const whole = piece.subarray(0, end)
    const text = begun.length === 0 ? whole.toString() : Buffer.concat([...begun, whole]).toString()
    begun = end + 1 < piece.length ? [piece.subarray(end + 1)] : []
    yield text.split('\n')
  }
  if (begun.length > 0) yield [Buffer.concat(begun).toString()]
}
