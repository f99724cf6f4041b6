import type { Contract } from '../../exchange/contract.ts'
import { ElementAssembler, type Token, TokenReader } from './element-assembler.ts'
import { PageFormatError, type PageLimits } from './page-limits.ts'
import { textProblem } from './page-text.ts'

export type PageElementKind = 'customProperty' | 'calculatorVariable' | 'company'

/** One element of one of the page's lists, not yet judged. */
export type PageElement = ListElement<PageElementKind>

type ListElement<K> = {
  kind: K
  value: unknown
  /** Position in its list, from 0. */
  ordinal: number
}

type ListsOptions<K> = {
  /**
   * The top-level lists to read, by their name; or what to make of each name, where all are read, whatever they are
   * called.
   */
  lists: ReadonlyMap<string, K> | ((name: string) => K)
  /** The list that must be there; null: none, but where all are read at least one must be. */
  required: string | null
  /** Where all lists are read: the names under which nothing but a list may stand. Under others anything may. */
  arrays?: ReadonlySet<string>
  limits: Pick<PageLimits, 'maxDepth' | 'maxElementSize'>
  /** Builds the elements, one after the other; values of plain JavaScript unless it is given. */
  element?: ElementBuilder
}

/** What builds an element from its tokens: `ElementAssembler` is one. */
export type ElementBuilder = Pick<ElementAssembler, 'push' | 'take'>

/**
 * Bounds on names at the top of a page whose lists are not known: what is remembered of them must not outgrow the
 * memory.
 */
const maxListName = 100
const maxTopMembers = 10_000

/** Bytes parsed at once: a body may hand over chunks of any size, and the tokens of one piece are kept together. */
export const pieceBytes = 64 * 1024

/**
 * Reads a calculator search page as it arrives, in any key order, keeping one element at a time.
 * See "Calculator search result page" in the specification.
 *
 * One byte-order mark at the start is ignored, as RFC 8259 section 8.1 allows: writers on some platforms add it.
 * Top-level keys that the specification does not know are streamed past, however large.
 *
 * @throws {PageFormatError} when the structure is wrong: no strict UTF-8, no JSON, cut short, anything behind the end,
 *   no object, the company list missing or given twice, a list that is no array, nested too deep, an element too large.
 *   Elements before that place have been yielded by then: the caller must be able to undo them.
 */
export async function* readPage(
  body: AsyncIterable<Uint8Array>,
  { contract, limits }: { contract: Contract; limits: PageLimits },
): AsyncGenerator<PageElement, void, undefined> {
  yield* readLists(body, pageLists(contract, limits))
}

/** The lists of a calculator search page. */
export function pageLists(contract: Contract, limits: PageLimits): ListsOptions<PageElementKind> {
  const names = contract.names.calculatorsPage
  const lists = new Map<string, PageElementKind>([
    [names.customProperties, 'customProperty'],
    [names.calculatorVariables, 'calculatorVariable'],
    [names.companies, 'company'],
  ])
  return { lists, required: names.companies, limits }
}

/**
 * Reads the elements of a document's top-level lists as it arrives, keeping one element at a time.
 * @throws {PageFormatError} as `readPage` does.
 */
export async function* readLists<K>(
  body: AsyncIterable<Uint8Array>,
  options: ListsOptions<K>,
): AsyncGenerator<ListElement<K>, void, undefined> {
  const page = new ListReader(options)
  let offset = 0
  for await (const chunk of body) {
    for (let start = 0; start < chunk.byteLength; start += pieceBytes) {
      yield* page.read(chunk.subarray(start, start + pieceBytes), offset + start)
    }
    offset += chunk.byteLength
  }
  yield* page.end(offset)
}

/** The state between the pieces of one document. */
export class ListReader<K> {
  readonly #tokens = new TokenReader((reason, cause) => this.#refusal(reason, cause))
  readonly #kinds: ListsOptions<K>['lists']
  readonly #required: string | null
  readonly #arrays: ReadonlySet<string>
  readonly #limits: ListsOptions<K>['limits']
  readonly #element: ElementBuilder
  readonly #seen = new Set<string>()
  #offset = 0
  #depth = 0
  #closed = false
  #key = ''
  #kind: K | undefined
  #ordinal = 0
  #lists = 0

  constructor({
    lists,
    required,
    arrays = new Set(),
    limits,
    element = new ElementAssembler(limits),
  }: ListsOptions<K>) {
    this.#kinds = lists
    this.#required = required
    this.#arrays = arrays
    this.#limits = limits
    this.#element = element
  }

  /** @param offset where on the page the bytes begin, for the message of an error. */
  *read(bytes: Uint8Array, offset: number): Generator<ListElement<K>, void, undefined> {
    this.#offset = offset
    yield* this.#walk(this.#tokens.read(bytes))
  }

  /**
   * Steps over an element of the list that is open, as if its comma and it had been read: for anyone who knows that it
   * is one.
   */
  pass(): void {
    this.#ordinal++
  }

  /** @param offset the size of the page. */
  *end(offset: number): Generator<ListElement<K>, void, undefined> {
    this.#offset = offset
    yield* this.#walk(this.#tokens.end())
    if (!this.#closed) throw this.#refusal('it ends before the document does')
    if (this.#required !== null && !this.#seen.has(this.#required)) {
      throw this.#refusal(`it has no list "${this.#required}"`)
    }
    if (typeof this.#kinds === 'function' && this.#lists === 0) throw this.#refusal('it has no list')
  }

  *#walk(tokens: Token[]): Generator<ListElement<K>, void, undefined> {
    for (const token of tokens) {
      const { name } = token
      const opens = name === 'startObject' || name === 'startArray'
      const closes = name === 'endObject' || name === 'endArray'
      if (closes) this.#depth--
      const depth = this.#depth
      if (opens && ++this.#depth > this.#limits.maxDepth) {
        throw this.#refusal(`it is nested deeper than ${this.#limits.maxDepth} levels`)
      }

      if (depth === 0) {
        if (closes) this.#closed = true
        else if (name !== 'startObject') throw this.#refusal('it is no object')
      } else if (depth === 1) {
        this.#topLevel(token)
      } else if (this.#kind !== undefined) {
        const state = this.#element.push(token)
        if (state === 'too_large') {
          throw this.#refusal(`the element is larger than the limit of ${this.#limits.maxElementSize}`)
        }
        if (state === 'whole') yield { kind: this.#kind, value: this.#element.take(), ordinal: this.#ordinal++ }
      }
    }
  }

  /** A token right inside the top object: a key, or the start or end of its value. */
  #topLevel(token: Token): void {
    switch (token.name) {
      case 'startKey':
        this.#key = ''
        this.#kind = undefined
        return
      case 'endKey':
        if (typeof this.#kinds === 'function') {
          this.#noteMember()
          return
        }
        this.#kind = this.#kinds.get(this.#key)
        this.#ordinal = 0
        if (this.#kind === undefined) return
        if (this.#seen.has(this.#key)) throw this.#refusal(`it has the list "${this.#key}" twice`)
        this.#seen.add(this.#key)
        return
      case 'startArray':
        if (typeof this.#kinds === 'function') this.#enterList(this.#kinds)
        return
      case 'endArray':
        if (typeof this.#kinds === 'function') this.#kind = undefined
        return
      case 'stringChunk':
        // A key beyond any name of ours need not be kept whole; the value of an unknown key is not kept at all.
        if (this.#kind === undefined && this.#key.length <= 256) this.#key += token.value
        return
      default:
        if (this.#kind !== undefined || this.#arrays.has(this.#key)) {
          throw this.#refusal(`"${this.#key}" is no array`)
        }
    }
  }

  /** The end of a key where all lists are read; whether its value is one is not known yet. */
  #noteMember(): void {
    this.#ordinal = 0
    if (this.#key.length > maxListName) return
    if (this.#seen.has(this.#key)) throw this.#refusal(`it has the key "${this.#key}" twice`)
    if (this.#seen.size === maxTopMembers) throw this.#refusal(`it has more than ${maxTopMembers} keys`)
    this.#seen.add(this.#key)
  }

  #enterList(kindOf: (name: string) => K): void {
    if (this.#key.length > maxListName) {
      throw this.#refusal(`it has a list whose name is longer than ${maxListName} characters`)
    }
    if (textProblem(this.#key) !== undefined) throw this.#refusal('it has a list whose name cannot be stored')
    this.#lists++
    this.#kind = kindOf(this.#key)
  }

  #refusal(reason: string, cause?: unknown): PageFormatError {
    const element = this.#kind === undefined ? '' : `at ${this.#key}[${this.#ordinal}], `
    const place = `${element}after byte ${this.#offset}`
    return new PageFormatError(place, reason, cause === undefined ? undefined : { cause })
  }
}
