import type { documentSearches } from '../../config/pull-searches.ts'
import type { Deps } from '../deps.ts'
import type { ReferenceIndex } from '../streams/rules/reference-index.ts'
import { expectedAnswer, mayBeSameAnswer, readAnswers } from './answers.ts'
import type { Judge } from './compare-company.ts'
import { expectedIdentifier, expectedValue, identifiersOf, readFields } from './fields.ts'
import { expectedHolder, readHolders } from './holders.ts'
import type { StoredThings } from './stored.ts'

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
  judge: (body: Readonly<Record<string, unknown>>) => Judge
}

/** The four kinds beside calculator inputs, which have a comparison of their own: their page is specified. */
export function comparedKinds(
  { contract, required }: Pick<Deps, 'contract' | 'required'>,
  reference: ReferenceIndex,
): ComparedKind[] {
  const { companiesPage, standardHoldersPage, frameworkAnswersPage } = contract.names
  const identifier = required.customIdentifierId.toLowerCase()
  const propertiesAsked = (body: Readonly<Record<string, unknown>>) =>
    idsIn(body[contract.names.companiesSearch.customPropertyIds])
  const exactly = () => false
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
      judge: () => ({
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
      judge: (body) => ({ expected: (row) => expectedValue(row, propertiesAsked(body)), incomparable: exactly }),
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
