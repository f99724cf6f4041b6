import type { documentSearches } from '../../config/job-settings.ts'
import type { Contract } from '../../exchange/contract.ts'
import { idOf, instantOf, objectOf } from '../../exchange/wire-value.ts'
import type { AnswerTypes } from '../streams/rules/reference-index.ts'
import { text } from '../streams/rules/row-content.ts'
import { expectedAnswer, mayBeSameAnswer, readAnswers } from './answers.ts'
import type { Expected, Judge, SentRow, Stored, StoredThings, Value } from './compare-company.ts'

/** One kind of row that is compared with a search whose pages are kept as documents. */
export type ComparedKind = {
  name: 'answers' | 'property_values' | 'standard_holders' | 'mappings'
  streams: readonly string[]
  search: (typeof documentSearches)[number]
  /** The list on the pages, and the member of its elements that names the company. */
  list: string
  companyMember: string
  /** Why a search with this body says nothing of the kind; null where it does. */
  leavesOut: (body: Readonly<Record<string, unknown>>) => string | null
  /** What a page shows of a company; null where it is laid out otherwise than the contract assumes. */
  read: (documents: readonly unknown[]) => StoredThings | null
  /** Of a kind whose rows are values of custom properties: which of these a search with this body asks for. */
  properties: (body: Readonly<Record<string, unknown>>) => ReadonlySet<string>
  /** With the custom properties that the search shows, of those that it asked for. */
  judge: (shown: ReadonlySet<string>, reference: AnswerTypes) => Judge
}

/**
 * The four kinds beside calculator inputs, which have a comparison of their own: their page is specified.
 * @param customIdentifierId `exchange.customIdentifierId`.
 */
export function comparedKinds(contract: Contract, customIdentifierId: string | null): ComparedKind[] {
  const { companiesPage, standardHoldersPage, frameworkAnswersPage } = contract.names
  const identifier = customIdentifierId?.toLowerCase() ?? ''
  const propertiesAsked = (body: Readonly<Record<string, unknown>>) =>
    idsIn(body[contract.names.companiesSearch.customPropertyIds])
  const exactly = () => false
  const none = () => new Set<string>()
  return [
    {
      name: 'answers',
      streams: ['framework_answers', 'omissions'],
      search: 'frameworkAnswersSearch',
      list: frameworkAnswersPage.companies,
      companyMember: frameworkAnswersPage.id,
      leavesOut: (body) => {
        const { frameworkIds, customPropertyIds } = contract.names.frameworkAnswersSearch
        return selected(body, frameworkIds, 'frameworks') ?? selectsOtherwise(body, [frameworkIds, customPropertyIds])
      },
      read: (documents) => readAnswers(contract, documents),
      properties: none,
      judge: (_shown, reference) => ({
        expected: (row) => expectedAnswer(contract, reference, row),
        incomparable: mayBeSameAnswer,
      }),
    },
    {
      name: 'property_values',
      streams: ['custom_property_values'],
      search: 'companiesSearch',
      list: companiesPage.companies,
      companyMember: companiesPage.id,
      leavesOut: (body) =>
        propertiesAsked(body).size === 0
          ? 'the search asks for no custom property'
          : selectsOtherwise(body, [contract.names.companiesSearch.customPropertyIds]),
      read: (documents) => readFields(contract, documents),
      properties: propertiesAsked,
      judge: (shown) => ({ expected: (row) => expectedValue(row, shown), incomparable: exactly }),
    },
    {
      name: 'standard_holders',
      streams: ['standard_holders'],
      search: 'standardHoldersSearch',
      list: standardHoldersPage.holders,
      companyMember: standardHoldersPage.companyId,
      leavesOut: (body) => {
        const { standardIds } = contract.names.standardHoldersSearch
        return selected(body, standardIds, 'standards') ?? selectsOtherwise(body, [standardIds])
      },
      read: (documents) => readHolders(contract, documents),
      properties: none,
      judge: () => ({ expected: expectedHolder, incomparable: exactly }),
    },
    {
      name: 'mappings',
      streams: ['properties'],
      search: 'companiesSearch',
      list: companiesPage.companies,
      companyMember: companiesPage.id,
      leavesOut: (body) =>
        propertiesAsked(body).has(identifier)
          ? selectsOtherwise(body, [contract.names.companiesSearch.customPropertyIds])
          : 'the search does not ask for the identifier property',
      read: (documents) => {
        const things = readFields(contract, documents)
        return things === null ? null : identifiersOf(things, identifier)
      },
      properties: none,
      judge: () => ({ expected: (row) => expectedIdentifier(row, identifier), incomparable: exactly }),
    },
  ]
}

/** What a search selects it shows, and absence from it may be that of what it did not select. */
function selected(body: Readonly<Record<string, unknown>>, member: string, what: string): string | null {
  return idsIn(body[member]).size > 0 ? `the search selects ${what}, so absence proves nothing` : null
}

/** A member that the contract does not name may select, and what was not selected is no absence. */
function selectsOtherwise(body: Readonly<Record<string, unknown>>, known: readonly string[]): string | null {
  const others = Object.keys(body).filter((member) => !known.includes(member))
  return others.length === 0 ? null : `the search has ${others.join(', ')}, which may select, so absence proves nothing`
}

function idsIn(value: unknown): ReadonlySet<string> {
  if (!Array.isArray(value)) return new Set()
  return new Set(value.filter((id) => typeof id === 'string').map((id) => id.toLowerCase()))
}

/**
 * The custom property values of one company on a page of the companies search, which are laid out like `fields` on a
 * calculator page; null where they are not. A member that is null is not there. Pure.
 */
function readFields(contract: Contract, documents: readonly unknown[]): StoredThings | null {
  const names = contract.names.companiesPage
  const things = new Map<string, Stored>()
  for (const document of documents) {
    const company = objectOf(document)
    if (company === null) return null
    const fields = objectOf(company[names.fields] ?? {})
    if (fields === null) return null
    for (const [property, shown] of Object.entries(fields)) {
      const values = shown ?? []
      if (!Array.isArray(values) || values.some((value) => typeof value !== 'string')) return null
      things.set(property.toLowerCase(), {
        values: (values as string[]).map(plain),
        changedAt: instantOf(company[names.changedAt]),
      })
    }
  }
  return things
}

/** What a custom property value should have left there; null where the search does not show the property. Pure. */
function expectedValue(row: SentRow, properties: ReadonlySet<string>): Expected | null {
  const property = text(row.content, 'property_id')?.toLowerCase()
  const value = text(row.content, 'value')
  if (property === undefined || value === null || value.trim() === '' || !properties.has(property)) return null
  return { thing: property, value: plain(value), shown: value }
}

/** What a mapping should have left there: the partner's id under the identifier. Pure. */
function expectedIdentifier(row: SentRow, identifier: string): Expected {
  // Other partner ids of the company stand beside it, so each is a thing of its own.
  return { thing: `${identifier} ${row.partner_id}`, value: plain(row.partner_id), shown: row.partner_id }
}

/** The same page, with each value of the identifier as a thing of its own. Pure. */
function identifiersOf(things: StoredThings, identifier: string): StoredThings {
  const values = things.get(identifier)?.values ?? []
  return new Map(values.map((one) => [`${identifier} ${one.value}`, { values: [one], changedAt: null }]))
}

/**
 * The standards that one company holds, by the standard holders search; null where the page is laid out otherwise. A
 * member that is null is not there. Pure.
 */
function readHolders(contract: Contract, documents: readonly unknown[]): StoredThings | null {
  const names = contract.names.standardHoldersPage
  const things = new Map<string, Stored>()
  for (const document of documents) {
    const holder = objectOf(document)
    const standard = idOf(holder?.[names.standardId])
    if (holder === null || standard === null) return null
    const parts = [names.level, names.startDate, names.expiryDate].map((name) => holder[name])
    if (parts.some((part) => part != null && typeof part !== 'string')) return null
    const [level, start, expiry] = parts as (string | null | undefined)[]
    const before = things.get(standard.toLowerCase())
    things.set(standard.toLowerCase(), {
      values: [...(before?.values ?? []), plain(holding(level, start, expiry))],
      changedAt: instantOf(holder[names.changedAt]),
    })
  }
  return things
}

/** What a standard that is held should have left there. Pure. */
function expectedHolder({ content }: SentRow): Expected | null {
  const standard = text(content, 'standard_id')
  if (standard === null) return null
  const value = holding(text(content, 'level'), text(content, 'start_date'), text(content, 'expiry_date'))
  return { thing: standard.toLowerCase(), value: plain(value), shown: value }
}

/** A date may come back as a moment: only its day was sent. */
function holding(...[level, start, expiry]: (string | null | undefined)[]): string {
  const day = (date: string | null | undefined) => (date == null ? '' : date.slice(0, 10))
  return `${level ?? ''} from ${day(start)} to ${day(expiry)}`
}

/** A value of a kind that knows no units. */
function plain(value: string): Value {
  return { value, unit: null }
}
