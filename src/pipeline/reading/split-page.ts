import type { Contract } from '../../exchange/contract.ts'
import { CompanyListFinder } from './company-list-finder.ts'
import { CompanyScanner } from './company-scanner.ts'
import { HeldBytes } from './held-bytes.ts'
import { PageFormatError } from './page-format-error.ts'
import type { PageLimits } from './page-limits.ts'
import { ListReader, type PageElement, type PageElementKind, pageLists, pieceBytes } from './read-page.ts'

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
}

/**
 * Reads a calculator search page as it arrives, as `readPage` does, but leaves each company as its bytes: finding where
 * it ends costs a fraction of parsing it. `parseCompany` then makes of the bytes what `readPage` would have given.
 *
 * Only objects in the list of companies are cut out, and only where its key is spelt without escapes. Everything else
 * on the page goes through `ListReader`, with `null` in the place of each company: the page around its companies is
 * judged by the one reader, and whatever is unusual arrives as elements of `readPage`. Elements come in the order of
 * the page, in arrays, of which a chunk of the body makes as few as it can.
 *
 * @throws {PageFormatError} as `readPage` does, but for what is wrong inside of a company: that is for `parseCompany`
 * to
 *   say. Elements before that place may have been yielded by then: the caller must be able to undo them.
 */
export async function* splitPage(
  body: AsyncIterable<Uint8Array>,
  { contract, limits }: { contract: Contract; limits: PageLimits },
): AsyncGenerator<(SplitCompany | PageElement)[], void, undefined> {
  const page = new PageSplitter(contract, limits)
  for await (const chunk of body) yield* page.split(chunk)
  const rest = page.end()
  if (rest.length > 0) yield rest
}

const comma = 0x2c

/**
 * Elements handed over together: a chunk of a megabyte holds some dozens of companies, or as many as 350,000 times
 * `{}`.
 */
const elementsAtOnce = 1_000

/** What the reader gets to see of a company. The spaces keep it a word of its own, whatever stands beside it. */
const placeholder = Buffer.from(' null ')

/** The state between the chunks of one page. */
class PageSplitter {
  readonly #list: string
  readonly #maxDepth: number
  readonly #maxElementSize: number
  readonly #reader: ListReader<PageElementKind>
  readonly #around: CompanyListFinder
  readonly #inside: CompanyScanner
  /** The company that is open: where it began, and what earlier chunks had of it. */
  #start = 0
  /** Whether the reader was not asked about it. */
  #passed = false
  /** Whether a company that the reader knows of has just ended. */
  #justCut = false
  readonly #held = new HeldBytes()
  #offset = 0

  constructor(contract: Contract, limits: PageLimits) {
    this.#list = contract.names.calculatorsPage.companies
    this.#maxDepth = limits.maxDepth
    this.#maxElementSize = limits.maxElementSize
    this.#reader = new ListReader(pageLists(contract, limits))
    this.#around = new CompanyListFinder(this.#list)
    this.#inside = new CompanyScanner(limits)
  }

  *split(chunk: Uint8Array): Generator<(SplitCompany | PageElement)[], void, undefined> {
    let found: (SplitCompany | PageElement)[] = []
    let at = 0
    while (at < chunk.length) {
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
        this.#inside.begin()
      }
      const end = this.#inside.scan(chunk, at)
      this.#judge(end)
      const bytes = chunk.subarray(at, end)
      if (this.#inside.open) this.#held.add(bytes)
      else this.#cutOut(bytes, found)
      at = end
      if (found.length >= elementsAtOnce) {
        yield found
        found = []
      }
    }
    this.#offset += chunk.length
    if (found.length > 0) yield found
  }

  end(): PageElement[] {
    return [...this.#reader.end(this.#offset)]
  }

  #readAround(chunk: Uint8Array, from: number, to: number, found: (SplitCompany | PageElement)[]): void {
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

  /**
   * A company right behind another, with nothing but a comma between them, leaves the reader where the one before did:
   * it is told of it, and not asked. Otherwise it answers the placeholder with an element of its own, unless the page
   * before it is no JSON.
   */
  #cutOut(last: Uint8Array, found: (SplitCompany | PageElement)[]): void {
    const bytes = this.#held.length === 0 ? last : this.#whole(last)
    const { ordinal } = this.#around
    const { keys, escapedKeys } = this.#inside
    const company = { kind: 'companyBytes' as const, bytes, ordinal, offset: this.#start, keys, escapedKeys }
    if (this.#passed) {
      this.#reader.pass()
      found.push(company)
      this.#justCut = true
      return
    }
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
