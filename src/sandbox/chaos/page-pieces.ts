import { jsonByte } from '../../exchange/json-bytes.ts'

const { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote } = jsonByte

/**
 * A part of a result file. Head: everything up to the bracket that opens its list; element: one of the list; tail: the
 * closing bracket and everything behind it. Commas between elements belong to none. More: a further piece of the part
 * in front of it, for those who write parts that are too large for memory.
 */
export type PagePart = { kind: 'head' | 'element' | 'tail' | 'more'; bytes: Buffer }

const openers = new Set<number>([openBracket, openBrace])
const closers = new Set<number>([closeBracket, closeBrace])

/**
 * Splits a file of the form `{…,"<listName>":[…]…}` while it arrives. One element is in memory at a time, and the head,
 * which must not be large. The text is trusted to be JSON, since the sandbox wrote it.
 */
export async function* splitPage(body: AsyncIterable<Uint8Array>, listName: string): AsyncGenerator<PagePart> {
  let kind: PagePart['kind'] = 'head'
  let held: Buffer[] = []
  let depth = 0
  let inString = false
  let escaped = false
  const opening = Buffer.from(`${JSON.stringify(listName)}:`)
  const take = () => {
    const bytes = Buffer.concat(held)
    held = []
    return bytes
  }
  for await (const arrived of body) {
    const piece = Buffer.from(arrived.buffer, arrived.byteOffset, arrived.byteLength)
    let from = 0
    for (let at = 0; at < piece.length && kind !== 'tail'; at += 1) {
      const byte = piece[at] ?? 0
      if (inString) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) inString = false
        continue
      }
      if (byte === quote) inString = true
      else if (openers.has(byte)) {
        depth += 1
        if (kind !== 'head' || depth !== 2 || byte !== openBracket) continue
        const before = Buffer.concat([...held, piece.subarray(from, at)])
        if (!before.subarray(-opening.length).equals(opening)) continue
        held.push(piece.subarray(from, at + 1))
        yield { kind, bytes: take() }
        kind = 'element'
        from = at + 1
      } else if (closers.has(byte)) {
        depth -= 1
        if (kind !== 'element' || depth !== 1) continue
        held.push(piece.subarray(from, at))
        const bytes = take()
        if (bytes.length > 0) yield { kind, bytes }
        kind = 'tail'
        from = at
      } else if (byte === comma && kind === 'element' && depth === 2) {
        held.push(piece.subarray(from, at))
        yield { kind, bytes: take() }
        from = at + 1
      }
    }
    held.push(piece.subarray(from))
  }
  yield { kind, bytes: take() }
}

/** The parts as one text again, with commas between elements. */
export async function* joinParts(parts: AsyncIterable<PagePart>): AsyncGenerator<Buffer> {
  let elements = 0
  for await (const { kind, bytes } of parts) {
    if (kind === 'element') elements += 1
    yield kind === 'element' && elements > 1 ? Buffer.concat([Buffer.from(','), bytes]) : bytes
  }
}
