import { isUtf8 } from 'node:buffer'
import type { Contract } from '../../exchange/contract.ts'
import { jsonByte } from '../../exchange/json-bytes.ts'
import { CompanyListFinder, CompanyScanner } from './company-scanner.ts'
import { ElementAssembler, type Token, TokenReader } from './element-assembler.ts'
import { PageFormatError, type PageLimits } from './page-limits.ts'
import { ListReader, type PageElement, type PageElementKind, pageLists, pieceBytes } from './read-page.ts'

const { comma } = jsonByte

/** One company as the bytes of its page, not yet judged: they may even be no JSON. */
export type SplitCompany = {
  kind: 'companyBytes'
  /**
   * Valid for as long as the body leaves its chunks alone: a company that lies within one chunk is a view of it, not a
   * copy. It keeps the whole chunk in memory.
   */
  bytes: Uint8Array
  /** Position in the list, from 0. */
  ordinal: number
  /** Where its bytes begin on the page, from 0. */
  offset: number
  /** Keys in all of its objects: more than are left after parsing means a doubled key. */
  keys: number
  /** Whether one of its keys is spelt with an escape. */
  escapedKeys: boolean
  /** Whether it came in several chunks of the body. */
  gathered: boolean
}

/** Who may know where a company ends without a search for its end; `Known` is what is yielded for such a one. */
export type Shortcut<Known> = {
  /** Makes ready for the next chunk. */
  prepare(): Promise<void>
  /**
   * The company that begins at `at`, which must be one that a search for its end would find and the limits allow.
   * @returns where it ends, and what is known of it; undefined where only a search can tell.
   */
  take(chunk: Uint8Array, at: number, place: CompanyPlace): { end: number; known: Known } | undefined
}

/** Where a company stands on its page. */
export type CompanyPlace = Pick<SplitCompany, 'ordinal' | 'offset'>

/**
 * Reads a calculator search page as it arrives, as `readPage` does, but leaves each company as its bytes: finding where
 * it ends costs a fraction of parsing it. `parseCompany` then makes of the bytes what `readPage` would have given.
 *
 * Only objects in the list of companies are cut out, and only where its key is spelt without escapes. Everything else
 * on the page goes through `ListReader`, with `null` in the place of each company: the page around its companies is
 * judged by the one reader, and whatever is unusual arrives as elements of `readPage`. Elements come in the order of
 * the page, in arrays, of which a chunk of the body makes as few as it can.
 *
 * A company that a shortcut knows is not searched for its end, nor counted against the limits.
 *
 * @throws {PageFormatError} as `readPage` does, but for what is wrong inside of a company: that is for
 *   `parseCompany` to say. Elements before that place may have been yielded by then: the caller must be able to undo
 *   them.
 */
export async function* splitPage<Known = never>(
  body: AsyncIterable<Uint8Array>,
  { contract, limits, shortcut }: { contract: Contract; limits: PageLimits; shortcut?: Shortcut<Known> },
): AsyncGenerator<(SplitCompany | PageElement | Known)[], void, undefined> {
  const page = new PageSplitter(contract, limits, shortcut)
  for await (const chunk of body) {
    await shortcut?.prepare()
    yield* page.split(chunk)
  }
  const rest = page.end()
  if (rest.length > 0) yield rest
}

/**
 * Elements handed over together: a chunk of a megabyte holds some dozens of companies, or as many as 350,000 times
 * `{}`.
 */
const elementsAtOnce = 1_000

/** What the reader gets to see of a company. The spaces keep it a word of its own, whatever stands beside it. */
const placeholder = Buffer.from(' null ')

type Found<Known> = SplitCompany | PageElement | Known

/** The state between the chunks of one page. */
class PageSplitter<Known> {
  readonly #list: string
  readonly #maxDepth: number
  readonly #maxElementSize: number
  readonly #reader: ListReader<PageElementKind>
  readonly #around: CompanyListFinder
  readonly #inside: CompanyScanner
  readonly #shortcut: Shortcut<Known> | undefined
  /** The company that is open: where it began, and what earlier chunks had of it. */
  #start = 0
  /** Whether the reader was not asked about it. */
  #passed = false
  /** Whether a company that the reader knows of has just ended. */
  #justCut = false
  readonly #held = new GatheredBytes()
  #offset = 0

  constructor(contract: Contract, limits: PageLimits, shortcut?: Shortcut<Known>) {
    this.#shortcut = shortcut
    this.#list = contract.names.calculatorsPage.companies
    this.#maxDepth = limits.maxDepth
    this.#maxElementSize = limits.maxElementSize
    this.#reader = new ListReader(pageLists(contract, limits))
    this.#around = new CompanyListFinder(this.#list)
    this.#inside = new CompanyScanner(limits)
  }

  *split(chunk: Uint8Array): Generator<Found<Known>[], void, undefined> {
    let found: Found<Known>[] = []
    let at = 0
    while (at < chunk.length) {
      if (found.length >= elementsAtOnce) {
        yield found
        found = []
      }
      if (!this.#inside.open) {
        const end = this.#around.find(chunk, at)
        this.#passed = this.#justCut && end === at + 1 && end < chunk.length && chunk[at] === comma
        if (!this.#passed) {
          for (let start = at; start < end; start += pieceBytes) {
            this.#readAround(chunk, start, Math.min(start + pieceBytes, end), found)
            if (found.length >= elementsAtOnce) {
              yield found
              found = []
            }
          }
        }
        this.#justCut = false
        at = end
        if (at === chunk.length) break
        this.#start = this.#offset + at
        const place = { ordinal: this.#around.ordinal, offset: this.#start }
        const taken = this.#shortcut?.take(chunk, at, place)
        if (taken !== undefined) {
          this.#found(taken.known, found)
          at = taken.end
          continue
        }
        this.#inside.begin()
      }
      const end = this.#inside.scan(chunk, at)
      this.#judge(end)
      const bytes = chunk.subarray(at, end)
      if (this.#inside.open) this.#held.add(bytes)
      else this.#cutOut(bytes, found)
      at = end
    }
    this.#offset += chunk.length
    if (found.length > 0) yield found
  }

  end(): PageElement[] {
    return [...this.#reader.end(this.#offset)]
  }

  #readAround(chunk: Uint8Array, from: number, to: number, found: Found<Known>[]): void {
    for (const element of this.#reader.read(chunk.subarray(from, to), this.#offset + from)) found.push(element)
  }

  /** Before anything of a company is held that the limits forbid. */
  #judge(at: number): void {
    if (!this.#inside.tooDeep && !this.#inside.tooLarge) return
    const reason = this.#inside.tooDeep
      ? `it is nested deeper than ${this.#maxDepth} levels`
      : `the element is larger than the limit of ${this.#maxElementSize}`
    throw new PageFormatError(`at ${this.#list}[${this.#around.ordinal}], after byte ${this.#offset + at}`, reason)
  }

  #cutOut(last: Uint8Array, found: Found<Known>[]): void {
    const gathered = this.#held.length > 0
    const bytes = gathered ? this.#whole(last) : last
    const { ordinal } = this.#around
    const { keys, escapedKeys } = this.#inside
    this.#found({ kind: 'companyBytes', bytes, ordinal, offset: this.#start, keys, escapedKeys, gathered }, found)
  }

  /**
   * A company right behind another, with nothing but a comma between them, leaves the reader where the one before did:
   * it is told of it, and not asked. Otherwise it answers the placeholder with an element of its own, unless the page
   * before it is no JSON.
   */
  #found(company: SplitCompany | Known, found: Found<Known>[]): void {
    if (this.#passed) {
      this.#reader.pass()
      found.push(company)
      this.#justCut = true
      return
    }
    const { ordinal } = this.#around
    for (const element of this.#reader.read(placeholder, this.#start)) {
      const isCompany = element.kind === 'company' && element.ordinal === ordinal
      found.push(isCompany ? company : element)
      this.#justCut = isCompany
    }
  }

  #whole(last: Uint8Array): Uint8Array {
    this.#held.add(last)
    return this.#held.take()
  }
}

/**
 * Bytes that arrive in pieces, copied together: however small the pieces are, no more memory than twice their bytes is
 * held, and none of the chunks that they were cut from.
 */
class GatheredBytes {
  #buffer = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(this.#length === 0 ? needed : Math.max(needed, 2 * this.#buffer.length))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    this.#buffer.set(piece, this.#length)
    this.#length = needed
  }

  /** Everything since the last `take`; it stays the caller's own. */
  take(): Uint8Array {
    const bytes = this.#buffer.subarray(0, this.#length)
    this.#buffer = Buffer.alloc(0)
    this.#length = 0
    return bytes
  }
}

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
const placeBytes = 256

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
  for (; start < bytes.length; start += placeBytes) push(reader.read(bytes.subarray(start, start + placeBytes)))
  push(reader.end())
  return element.take()
}
