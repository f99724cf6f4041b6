import type { BodyContext, BodyWriter, OutgoingRow } from './body.ts'

/**
 * Writes a body while its rows are being read: before each piece there are rows at hand up to the first of another
 * property, and no more than a batch beyond that. So memory depends on the largest property, not on the body.
 *
 * @param batches rows ordered by partner id.
 * @throws when the writer wants to read further between two pieces than a BodyWriter may, however short the body is.
 */
export async function* streamBody(
  write: BodyWriter,
  batches: AsyncIterable<readonly OutgoingRow[]>,
  context: BodyContext,
): AsyncGenerator<string> {
  const source = batches[Symbol.asyncIterator]()
  let atHand: OutgoingRow[] = []
  let next = 0
  /** Rows before this position may be taken for the piece that comes next. */
  let allowed = 0
  let atEnd = false

  const endOfProperty = (): number => {
    const first = atHand[next]?.partner_id
    const other = atHand.findIndex((row, at) => at > next && row.partner_id !== first)
    return other === -1 ? atHand.length : other + 1
  }
  const fetchProperty = async (): Promise<void> => {
    if (allowed > next && atHand[allowed - 1]?.partner_id !== atHand[next]?.partner_id) return
    for (;;) {
      allowed = endOfProperty()
      const complete = atHand[allowed - 1]?.partner_id !== atHand[next]?.partner_id
      if (atEnd || (next < atHand.length && complete)) return
      const batch = await source.next()
      if (batch.done === true) atEnd = true
      else {
        atHand = [...atHand.slice(next), ...batch.value]
        next = 0
      }
    }
  }
  const rows: IterableIterator<OutgoingRow> = {
    [Symbol.iterator]: () => rows,
    next() {
      const row = atHand[next]
      if (row !== undefined && next < allowed) {
        next += 1
        return { done: false, value: row }
      }
      if (atEnd && row === undefined) return { done: true, value: undefined }
      throw new Error('the writer of a body read on beyond one property without yielding what it has')
    },
  }
  const pieces = write(rows, context)
  for (;;) {
    await fetchProperty()
    const piece = pieces.next()
    if (piece.done === true) return
    yield piece.value
  }
}
