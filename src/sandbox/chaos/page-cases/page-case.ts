import type { Contract } from '../../../exchange/contract.ts'
import { type Document, type PageOpening, partOf, withOpening, writeFrame } from '../page-opening.ts'
import type { PagePart } from '../page-pieces.ts'

/** How the file spells things: the name of its list, and the names of a page of calculators. */
export type Spelling = { list: string; names: Contract['names']['calculatorsPage'] }

/** One way in which a result file can be wrong. */
export type PageCase = {
  what: string
  /** True: only a page of calculators can be wrong in this way. */
  calculatorsOnly: boolean
  /** Other bytes in the place of the file, or other parts in the place of its beginning. */
  change:
    | { by: 'bytes'; bytes: (spelling: Spelling) => Buffer }
    | { by: 'frame'; frame: (frame: Frame, spelling: Spelling) => Partial<Frame> }
    | { by: 'opening'; parts: (opening: PageOpening, spelling: Spelling) => Iterable<PagePart> }
}

/** The texts in front of the list's elements and behind them. */
type Frame = { head: string; tail: string }

/** Other bytes in the place of the file. */
export function instead(what: string, bytes: string | Buffer | ((spelling: Spelling) => string | Buffer)): PageCase {
  const made = (spelling: Spelling) => encoded(typeof bytes === 'function' ? bytes(spelling) : bytes)
  return { what, calculatorsOnly: false, change: { by: 'bytes', bytes: made } }
}

/** Other texts around the elements. */
export function around(what: string, frame: (frame: Frame, spelling: Spelling) => Partial<Frame>): PageCase {
  return { what, calculatorsOnly: false, change: { by: 'frame', frame } }
}

/** A member, as it stands in the text, in front of those of the first element; one is made up in an empty list. */
export function member(
  what: string,
  text: string | Buffer | ((spelling: Spelling, first: Document) => Iterable<string | Buffer>),
): PageCase {
  const parts = function* (opening: PageOpening, spelling: Spelling): Generator<PagePart> {
    const [first = {}, ...others] = opening.elements
    const rest = JSON.stringify(first).slice(1)
    yield partOf('head', writeFrame(opening.head, spelling.list).head)
    yield partOf('element', '{')
    for (const piece of typeof text === 'function' ? text(spelling, first) : [text]) {
      yield { kind: 'more', bytes: encoded(piece) }
    }
    yield partOf('more', `${rest === '}' ? '' : ','}${rest}`)
    for (const other of others) yield partOf('element', JSON.stringify(other))
  }
  return { what, calculatorsOnly: false, change: { by: 'opening', parts } }
}

/** The beginning of a page of calculators: its head and its first companies, two at most. */
export type Opened = { head: Document; companies: unknown[] }

/** Other things said in the beginning of a page of calculators. */
export function content(what: string, change: (page: Opened, names: Spelling['names']) => void): PageCase {
  const parts = function* ({ head, elements }: PageOpening, { list, names }: Spelling): Generator<PagePart> {
    const page: Opened = { head, companies: elements }
    change(page, names)
    yield partOf('head', writeFrame(page.head, list).head)
    for (const company of page.companies) yield partOf('element', JSON.stringify(company))
  }
  return { what, calculatorsOnly: true, change: { by: 'opening', parts } }
}

function encoded(bytes: string | Buffer): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes
}

/** The file as the case has it. What the case does not need is not kept, however large the file is. */
export async function* breakPage(
  parts: AsyncIterable<PagePart>,
  { change }: PageCase,
  spelling: Spelling,
): AsyncGenerator<PagePart> {
  switch (change.by) {
    case 'bytes':
      yield { kind: 'head', bytes: change.bytes(spelling) }
      return
    case 'opening':
      yield* withOpening(parts, spelling.list, (opening) => change.parts(opening, spelling))
      return
    case 'frame':
      yield* withFrame(parts, (frame) => ({ ...frame, ...change.frame(frame, spelling) }))
  }
}

async function* withFrame(parts: AsyncIterable<PagePart>, change: (frame: Frame) => Frame): AsyncGenerator<PagePart> {
  let head = ''
  for await (const part of parts) {
    const text = part.kind === 'head' || part.kind === 'tail' ? part.bytes.toString('utf8') : null
    if (text !== null && part.kind === 'head') {
      head = text
      yield partOf('head', change({ head, tail: '' }).head)
    } else if (text !== null) {
      yield partOf('tail', change({ head, tail: text }).tail)
    } else yield part
  }
}
