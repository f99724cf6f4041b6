const newline = 10

/**
 * The lines of a byte stream, as many at a time as end within one of its pieces; the last of them without its line end.
 * A character whose bytes lie in two pieces stays whole.
 */
export async function* wholeLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(newline)
    if (end === -1) {
      if (piece.length > 0) begun.push(piece)
      continue
    }
    const whole = piece.subarray(0, end)
    yield begun.length === 0 ? whole : Buffer.concat([...begun, whole])
    begun = end + 1 < piece.length ? [piece.subarray(end + 1)] : []
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}

/**
 * Bytes of a value of whole lines, so that it has a page of a table almost to itself: one value costs the server about
 * what one line does. A longer line is a value of its own.
 */
const valueBytes = 8_000

/** The number of the row's values, and the length of the only one. */
const valueHead = 6

/** Lines as rows for COPY's binary form: each is one text, which holds as many lines as fit. */
export async function* packedLines(batches: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const lines of batches) {
    const ends = valueEnds(lines)
    const packed = Buffer.allocUnsafe(lines.length + ends.length * valueHead)
    let at = 0
    let from = 0
    for (const end of ends) {
      at = packed.writeUInt16BE(1, at)
      at = packed.writeUInt32BE(end - from, at)
      at += lines.copy(packed, at, from, end)
      from = end + 1
    }
    yield packed.subarray(0, at)
  }
}

/** Where values end: each at a line end that is left out, and the last with the lines. */
function valueEnds(lines: Buffer): number[] {
  const ends: number[] = []
  for (let from = 0; from <= lines.length; ) {
    const end = valueEnd(lines, from)
    ends.push(end)
    from = end + 1
  }
  return ends
}

function valueEnd(lines: Buffer, from: number): number {
  if (lines.length - from <= valueBytes) return lines.length
  const last = lines.lastIndexOf(newline, from + valueBytes)
  if (last > from) return last
  const next = lines.indexOf(newline, from + 1)
  return next === -1 ? lines.length : next
}
