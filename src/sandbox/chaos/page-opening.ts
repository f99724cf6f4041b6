import type { PagePart } from './page-pieces.ts'

export type Document = Record<string, unknown>

/** The beginning of a file, read: what stands in front of its list, and up to two elements. */
export type PageOpening = { head: Document; elements: Document[] }

/** A head as a document without the list that it opens. */
export function readHead(head: Buffer, listName: string): Document {
  const { [listName]: _list, ...members } = JSON.parse(`${head.toString('utf8')}]}`) as Document
  return members
}

/**
 * A head that opens the list behind the members of `before`, and the tail that closes it in front of those of `after`.
 */
export function writeFrame(before: Document, listName: string, after: Document = {}): { head: string; tail: string } {
  const written = (members: Document) => JSON.stringify(members).slice(1, -1)
  const [front, behind] = [written(before), written(after)]
  return {
    head: `{${front}${front === '' ? '' : ','}${JSON.stringify(listName)}:[`,
    tail: `]${behind === '' ? '' : ','}${behind}}`,
  }
}

/**
 * Gives the beginning of a file to `change`, and puts what it made of it in its place; what is behind it streams past.
 */
export async function* withOpening(
  parts: AsyncIterable<PagePart>,
  listName: string,
  change: (opening: PageOpening) => Iterable<PagePart>,
): AsyncGenerator<PagePart> {
  let opening: PageOpening | null = null
  for await (const part of parts) {
    if (part.kind === 'head') {
      opening = { head: readHead(part.bytes, listName), elements: [] }
      continue
    }
    if (opening && part.kind === 'element' && opening.elements.length < 2) {
      opening.elements.push(JSON.parse(part.bytes.toString('utf8')) as Document)
      continue
    }
    if (opening) yield* change(opening)
    opening = null
    yield part
  }
}

export function partOf(kind: PagePart['kind'], text: string): PagePart {
  return { kind, bytes: Buffer.from(text, 'utf8') }
}
