import type { SearchSettings } from '../../../config/pull-searches.ts'
import type { Contract } from '../../../exchange/contract.ts'

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
const hashPrefix = 'sha256:'

/**
 * The id of an element, or null where it has none that can be a key: a part is missing, empty or too long. Several
 * parts are joined by a slash, with `~0` for a tilde and `~1` for a slash within one, as in a JSON Pointer. Pure.
 */
export function documentId(members: ReadonlyMap<string, string>, idMembers: readonly string[]): string | null {
  const parts = idMembers.map((name) => members.get(name))
  const usable = parts.filter((part) => part !== undefined && part !== '' && part.length <= maxIdLength)
  if (usable.length === 0 || usable.length < parts.length) return null
  const [only = '', ...more] = usable
  const id = more.length === 0 ? only : usable.map(escaped).join('/')
  return id.length > maxJoinedLength || id.startsWith(hashPrefix) ? null : id
}

function escaped(part = ''): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}
