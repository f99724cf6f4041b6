import { isUtf8 } from 'node:buffer'
import { ElementAssembler, type Token } from './element-assembler.ts'
import { PageFormatError } from './page-format-error.ts'
import type { PageLimits } from './page-limits.ts'
import type { SplitCompany } from './split-page.ts'
import { TokenReader } from './token-reader.ts'

/**
 * One company as `readPage` would have read it, from its bytes on the page. `JSON.parse` reads it wherever it can; a company
 * that it refuses, or that gives a key twice, is read again by the parser of `readPage`, which has the last word.
 *
 * The objects have a prototype, where those of `readPage` have none: look fields up by `fieldOf`.
 *
 * @throws {PageFormatError} when it is no JSON or no strict UTF-8; the place names the company and about how many bytes in.
 */
export function parseCompany(company: SplitCompany, limits: Pick<PageLimits, 'maxElementSize'>): unknown {
  const parsed = parseQuickly(company.bytes)
  return parsed !== undefined && countKeys(parsed) === company.keys ? parsed : assemble(company, limits)
}

/** Undefined: it is no JSON. */
function parseQuickly(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) return undefined
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown
  } catch (error) {
    // What V8 says of it quotes the page. The other parser says it in words of its own, with the place.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The keys of all objects within a value. `JSON.parse` makes no other enumerable properties, and hides none. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (const element of value) keys += countKeys(element)
    return keys
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    keys++
    const inner = object[key]
    if (typeof inner === 'object') keys += countKeys(inner)
  }
  return keys
}

/** Bytes between two places that the message of an error can tell apart. */
const pieceBytes = 256

function assemble({ bytes, ordinal, offset }: SplitCompany, limits: Pick<PageLimits, 'maxElementSize'>): unknown {
  let start = 0
  const refusal = (reason: string, cause?: unknown): PageFormatError => {
    const place = `in company ${ordinal}, after byte ${offset + start}`
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
