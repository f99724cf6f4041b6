import { isUtf8 } from 'node:buffer'
import { ElementAssembler, type Token, TokenReader } from './element-assembler.ts'
import { PageFormatError, type PageLimits } from './page-limits.ts'
import type { SplitCompany } from './split-page.ts'

/**
 * One company as `readPage` would have read it, from its bytes on the page. `JSON.parse` reads it wherever it can; a
 * company that it refuses, that gives a key twice or that has a key with escapes, is read by the parser of `readPage`.
 *
 * The objects have a prototype, where those of `readPage` have none: look fields up by `fieldOf`.
 *
 * @throws {PageFormatError} when it is no JSON or no strict UTF-8; the place names the company and about how many bytes
 * in.
 */
export function parseCompany(company: SplitCompany, limits: Pick<PageLimits, 'maxElementSize'>): unknown {
  const parsed = parseQuickly(company)
  return parsed !== undefined && countKeys(parsed) === company.keys ? parsed : assemble(company, limits)
}

/** Undefined: it is no JSON, or none that `JSON.parse` can be trusted with. */
function parseQuickly({ bytes, escapedKeys }: SplitCompany): unknown {
  // V8 up to 14.6 at least may take such a key for one that it has met before:
  // https://github.com/nodejs/node/issues/63785
  if (escapedKeys || !isUtf8(bytes)) return undefined
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown
  } catch (error) {
    // What V8 says of it quotes the page. The other parser says it in words of its own, with the place.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The keys of all objects within a value. `JSON.parse` makes nothing enumerable but what the text says. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside: unknown[] = Array.isArray(value) ? value : Object.values(value)
  let keys = Array.isArray(value) ? 0 : inside.length
  for (const inner of inside) {
    if (typeof inner === 'object') keys += countKeys(inner)
  }
  return keys
}

/** Bytes between two places that the message of an error can tell apart. */
const pieceBytes = 256

function assemble({ bytes, ordinal, offset }: SplitCompany, limits: Pick<PageLimits, 'maxElementSize'>): unknown {
  let start = 0
  const refusal = (reason: string, cause?: unknown): PageFormatError => {
    const place = `in company ${ordinal}, after byte ${offset + Math.min(start, bytes.length)}`
    return new PageFormatError(place, reason, cause === undefined ? undefined : { cause })
  }
  const reader = new TokenReader(refusal)
  const element = new ElementAssembler(limits)
  const push = (tokens: Token[]): void => {
    for (const token of tokens) {
      if (element.push(token) === 'too_large') {
        throw refusal(`the element is larger than the limit of ${limits.maxElementSize}`)
      }
    }
  }
  for (; start < bytes.length; start += pieceBytes) push(reader.read(bytes.subarray(start, start + pieceBytes)))
  push(reader.end())
  return element.take()
}
