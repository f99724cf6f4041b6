import { shuffle, shuffleKeys, withUnknownFields } from './change-document.ts'
import { type Document, partOf, readHead, writeFrame } from './page-opening.ts'
import type { PagePart } from './page-pieces.ts'

type Parts = AsyncIterable<PagePart>

/**
 * The members of every object in another order, those of the whole document included; the elements keep their order.
 */
export async function* withShuffledKeys(
  parts: Parts,
  listName: string,
  random: () => number,
): AsyncGenerator<PagePart> {
  let tail = ']}'
  for await (const part of parts) {
    if (part.kind === 'head') {
      const members = Object.entries(shuffleKeys(readHead(part.bytes, listName), random) as Document)
      const order = shuffle([...members.map(([name]) => name), listName], random)
      const at = order.indexOf(listName)
      const chosen = (names: string[]) => Object.fromEntries(members.filter(([name]) => names.includes(name)))
      const frame = writeFrame(chosen(order.slice(0, at)), listName, chosen(order.slice(at + 1)))
      tail = frame.tail
      yield partOf('head', frame.head)
    } else if (part.kind === 'element') {
      yield partOf('element', JSON.stringify(shuffleKeys(JSON.parse(part.bytes.toString('utf8')), random)))
    } else yield partOf(part.kind, tail)
  }
}

/** Unknown members in every object but in those whose names are in `maps`, which are keyed by ids. */
export async function* withUnknownFieldsOnPage(
  parts: Parts,
  listName: string,
  maps: ReadonlySet<string>,
): AsyncGenerator<PagePart> {
  for await (const part of parts) {
    if (part.kind === 'head') {
      const head = withUnknownFields(readHead(part.bytes, listName), maps) as Document
      yield partOf('head', writeFrame(head, listName).head)
    } else if (part.kind === 'element') {
      yield partOf('element', JSON.stringify(withUnknownFields(JSON.parse(part.bytes.toString('utf8')), maps)))
    } else yield part
  }
}

/** One element more, the last. */
export async function* withGuest(parts: Parts, guest: Buffer | null): AsyncGenerator<PagePart> {
  for await (const part of parts) {
    if (part.kind === 'tail' && guest) yield { kind: 'element', bytes: guest }
    yield part
  }
}

/** The first element of a file, or null. */
export async function firstElement(parts: Parts): Promise<Buffer | null> {
  for await (const { kind, bytes } of parts) if (kind === 'element') return bytes
  return null
}
