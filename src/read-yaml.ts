import { type Document, type ErrorCode, LineCounter, type YAMLError as ParserError, parseDocument, visit } from 'yaml'

/** What is wrong with a text of YAML, and where, as far as one place can be named. */
type YamlFault = { at: { line: number; column: number } | null; message: string }

/** A text that is no YAML, or none that can be used. No message quotes the text. */
export class YamlError extends Error {
  readonly faults: readonly YamlFault[]

  constructor(faults: readonly YamlFault[]) {
    super(
      faults
        .map(({ at, message }) => (at === null ? message : `line ${at.line}, column ${at.column}: ${message}`))
        .join('\n'),
    )
    this.faults = faults
  }
}

/**
 * Reads a document of YAML. The words of the parser quote what they are about, and a file may hold secrets: a password
 * that begins with `*` is an alias to it. So what is wrong is told in words that hold nothing of the text, and the
 * warnings of the parser, which go to standard error with the line, are not told at all.
 * @throws {YamlError} with every fault that was found.
 */
export function readYaml(text: string): unknown {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, logLevel: 'error', prettyErrors: false })
  const placeOf = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset)
    return { line, column: col }
  }
  if (document.errors.length > 0) {
    throw new YamlError(document.errors.map((error) => ({ at: placeOf(error.pos[0]), message: wordsFor(error) })))
  }
  try {
    return document.toJS() as unknown
  } catch {
    const alias = aliasWithoutAnchor(document)
    throw new YamlError([
      alias === null
        ? { at: null, message: 'its aliases unfold into more than anybody can need, or it nests too deeply' }
        : {
            at: placeOf(alias),
            message: 'an alias that has no anchor before it; a text that begins with * needs quotes',
          },
    ])
  }
}

/** Where the first such alias stands. Null: there is none. */
function aliasWithoutAnchor(document: Document): number | null {
  const anchors = new Set<string>()
  let found: number | null = null
  visit(document, {
    Alias: (_, { source, range }) => {
      if (anchors.has(source)) return undefined
      found = range?.[0] ?? 0
      return visit.BREAK
    },
    Value: (_, { anchor }) => {
      if (anchor !== undefined) anchors.add(anchor)
    },
  })
  return found
}

/** What the parser says with these codes is the same whatever the text holds. */
const quotingNothing = new Set<ErrorCode>([
  ...(['ALIAS_PROPS', 'BAD_ALIAS', 'BAD_INDENT', 'BAD_PROP_ORDER', 'BAD_SCALAR_START'] as const),
  ...(['BLOCK_AS_IMPLICIT_KEY', 'BLOCK_IN_FLOW', 'DUPLICATE_KEY', 'KEY_OVER_1024_CHARS', 'MISSING_CHAR'] as const),
  ...(['MULTILINE_IMPLICIT_KEY', 'MULTIPLE_ANCHORS', 'MULTIPLE_DOCS', 'MULTIPLE_TAGS', 'TAB_AS_INDENT'] as const),
])

const ownWords: Partial<Record<ErrorCode, string>> = {
  BAD_DIRECTIVE: 'a line that begins with % and is no directive of YAML',
  BAD_DQ_ESCAPE: 'a backslash within double quotes that begins no escape; write it twice, or use single quotes',
  TAG_RESOLVE_FAILED: 'a tag that cannot be resolved; a text that begins with ! needs quotes',
  UNEXPECTED_TOKEN: 'what stands here was not expected; a text that begins with one of | > ] } , needs quotes',
}

function wordsFor({ code, message }: ParserError): string {
  if (quotingNothing.has(code)) return message
  return ownWords[code] ?? 'what stands here cannot be read'
}
