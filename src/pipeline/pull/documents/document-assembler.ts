import type { SearchSettings } from '../../../config/job-settings.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { Token } from '../../reading/element-assembler.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import type { ElementBuilder } from '../../reading/read-page.ts'

/** Why an element cannot be kept as it came. */
type DocumentProblem = 'key_twice' | 'nul_character' | 'lone_surrogate' | 'number_too_long' | 'document_too_large'

/** One element of a list as JSON text: every string and every digit as on the page, only the white space is gone. */
export type DocumentText = {
  text: string
  /** Its own members that are texts or numbers, of those asked for; a number by its digits. */
  members: ReadonlyMap<string, string>
  /** Null: jsonb can hold it. */
  problem: DocumentProblem | null
}

/** What a token weighs besides its characters, as in `ElementAssembler`. */
const tokenWeight = 8

/**
 * Digits of a number written out. jsonb keeps numbers as `numeric`, which writes every exponent out: 1e131071 takes
 * eight characters on a page and 131,072 in each query that shows it.
 */
const maxDigits = 1_000

/** jsonb holds 256 MB of an array's or object's parts; what stands beside the text of each is allowed for. In bytes. */
const maxBytes = 128 * 1024 * 1024

type Frame = { keys: Set<string> | null; members: number; key: string }

/**
 * Writes one list element from tokens as JSON text, within `limits.maxElementSize`: a value that was parsed and written
 * again would have lost digits and doubled keys.
 */
export class DocumentAssembler implements ElementBuilder {
  readonly #maxSize: number
  readonly #wanted: ReadonlySet<string>
  #open: Frame[] = []
  #written = ''
  #token = ''
  #size = 0
  #members = new Map<string, string>()
  /** Its own keys that came twice: what they contain is nobody's id. */
  #doubled = new Set<string>()
  #problem: DocumentProblem | null = null

  /** @param wanted names of the members that may make up an id. */
  constructor(limits: Pick<PageLimits, 'maxElementSize'>, wanted: ReadonlySet<string>) {
    this.#maxSize = limits.maxElementSize
    this.#wanted = wanted
  }

  /** The element, once `push` has returned 'whole'. */
  take(): DocumentText {
    const text = this.#written
    if (Buffer.byteLength(text) > maxBytes) this.#problem ??= 'document_too_large'
    for (const key of this.#doubled) this.#members.delete(key)
    const element = { text, members: this.#members, problem: this.#problem }
    this.#written = ''
    this.#size = 0
    this.#members = new Map()
    this.#doubled = new Set()
    this.#problem = null
    return element
  }

  /** @returns 'whole' when the token ended the element, 'too_large' when the element outgrew its limit. */
  push(token: Token): 'open' | 'whole' | 'too_large' {
    this.#size += tokenWeight
    switch (token.name) {
      case 'startObject':
        return this.#enter('{', new Set())
      case 'startArray':
        return this.#enter('[', null)
      case 'endObject':
      case 'endArray':
        this.#open.pop()
        this.#written += token.name === 'endObject' ? '}' : ']'
        return this.#state()
      case 'startKey':
      case 'startString':
      case 'startNumber':
        this.#token = ''
        return this.#state(true)
      case 'stringChunk':
      case 'numberChunk':
        this.#token += token.value
        this.#size += token.value.length
        return this.#state(true)
      case 'endKey':
        return this.#key(this.#token)
      case 'endString':
        return this.#string(this.#token)
      case 'endNumber':
        return this.#number(this.#token)
      case 'trueValue':
      case 'falseValue':
      case 'nullValue':
        return this.#put(String(token.value))
      default:
        return this.#state()
    }
  }

  #key(key: string): 'open' | 'whole' | 'too_large' {
    const frame = this.#open.at(-1)
    this.#checkText(key)
    if (frame?.keys?.has(key)) {
      this.#problem ??= 'key_twice'
      if (this.#open.length === 1) this.#doubled.add(key)
    } else {
      frame?.keys?.add(key)
    }
    this.#separate(frame)
    this.#written += `${JSON.stringify(key)}:`
    if (frame !== undefined) frame.key = key
    return this.#state()
  }

  #string(text: string): 'open' | 'whole' | 'too_large' {
    this.#note(text, this.#checkText(text))
    return this.#put(JSON.stringify(text))
  }

  #number(text: string): 'open' | 'whole' | 'too_large' {
    const digits = numberDigits(text)
    if (digits > maxDigits) this.#problem ??= 'number_too_long'
    else this.#size += digits
    this.#note(text, digits <= maxDigits)
    return this.#put(text)
  }

  /** Keeps a member of the element itself that may be part of its id. */
  #note(text: string, storable: boolean): void {
    const key = this.#open[0]?.key
    if (this.#open.length === 1 && key !== undefined && storable && this.#wanted.has(key)) this.#members.set(key, text)
  }

  /** PostgreSQL stores no NUL, and UTF-8 has no lone surrogate: writing either would change the text. */
  #checkText(text: string): boolean {
    const problem = text.includes('\u0000') ? 'nul_character' : text.isWellFormed() ? null : 'lone_surrogate'
    this.#problem ??= problem
    return problem === null
  }

  #enter(bracket: string, keys: Set<string> | null): 'open' | 'whole' | 'too_large' {
    this.#put(bracket)
    this.#open.push({ keys, members: 0, key: '' })
    return this.#state()
  }

  #put(json: string): 'open' | 'whole' | 'too_large' {
    const frame = this.#open.at(-1)
    if (frame?.keys === null) this.#separate(frame)
    this.#written += json
    return this.#state()
  }

  #separate(frame: Frame | undefined): void {
    if (frame === undefined) return
    if (frame.members > 0) this.#written += ','
    frame.members++
  }

  #state(insideText = false): 'open' | 'whole' | 'too_large' {
    if (this.#size > this.#maxSize) return 'too_large'
    return this.#open.length === 0 && !insideText ? 'whole' : 'open'
  }
}

/** Exponents beyond this are not worth a sum: no number that is kept comes near. */
const farExponent = 1_000_000

const form = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** How many digits a JSON number has once its exponent is written out; Infinity for one far beyond any use. Pure. */
export function numberDigits(text: string): number {
  const [, whole = '', fraction = '', exponentText = '0'] = form.exec(text) ?? []
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > farExponent) return Infinity
  return Math.max(1, whole.length + exponent) + Math.max(0, fraction.length - exponent)
}

/** By the name of a list: the members of its elements that make up their id. */
export type IdMembers = ReadonlyMap<string, readonly string[]>

/** Ids are indexed, and an index entry has a limit near 2,700 bytes; ids of the service are 36 characters long. */
const maxIdLength = 200
const maxJoinedLength = 400

/**
 * What tells the elements of each list of a search apart: what the configuration says, else the contract.
 * Spec gap: these pages are not shown, docs/spec-gaps.md. Elements of a list that neither knows have no id.
 */
export function idMembersOf({ names }: Contract, { search, ids }: Pick<SearchSettings, 'search' | 'ids'>): IdMembers {
  return new Map([...contractIds(names, search), ...Object.entries(ids)])
}

function contractIds(names: Contract['names'], search: SearchSettings['search']): [string, readonly string[]][] {
  const { companiesPage, standardsPage, standardHoldersPage, frameworkAnswersPage } = names
  switch (search) {
    case 'companiesSearch':
      return [
        [companiesPage.customProperties, [companiesPage.id]],
        [companiesPage.companies, [companiesPage.id]],
      ]
    case 'standardsSearch':
      return [[standardsPage.standards, [standardsPage.id]]]
    case 'standardHoldersSearch':
      return [[standardHoldersPage.holders, [standardHoldersPage.companyId, standardHoldersPage.standardId]]]
    case 'frameworkAnswersSearch':
      return [
        [frameworkAnswersPage.customProperties, [frameworkAnswersPage.id]],
        [frameworkAnswersPage.companies, [frameworkAnswersPage.id]],
      ]
    default:
      return search satisfies never
  }
}

/** How ids that the hash of the content makes begin. */
export const hashPrefix = 'sha256:'

/**
 * The id of an element, or null where it has none that can be a key: a part is missing, empty or too long. Several
 * parts are joined by a slash, with `~0` for a tilde and `~1` for a slash within one, as in a JSON Pointer. A UUID is
 * the same in capitals and in small letters, so it stands in these. Pure.
 */
export function documentId(members: ReadonlyMap<string, string>, idMembers: readonly string[]): string | null {
  const parts = idMembers.map((name) => members.get(name))
  const usable = parts.filter((part) => part !== undefined && part !== '' && part.length <= maxIdLength)
  if (usable.length === 0 || usable.length < parts.length) return null
  const [only = '', ...more] = usable
  const id = (more.length === 0 ? only : usable.map(escaped).join('/')).replace(uuids, (uuid) => uuid.toLowerCase())
  return id.length > maxJoinedLength || id.startsWith(hashPrefix) ? null : id
}

const uuids = /(?<![^/])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![^/])/gi

function escaped(part = ''): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}
