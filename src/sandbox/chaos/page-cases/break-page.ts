import { partOf, withOpening } from '../page-opening.ts'
import type { PagePart } from '../page-pieces.ts'
import type { PageCase, Spelling } from './page-case.ts'

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

async function* withFrame(
  parts: AsyncIterable<PagePart>,
  change: (frame: { head: string; tail: string }) => { head: string; tail: string },
): AsyncGenerator<PagePart> {
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
