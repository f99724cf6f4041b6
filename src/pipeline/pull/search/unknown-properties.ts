import type { SearchSettings } from '../../../config/pull-searches.ts'
import type { Config } from '../../../config/schema.ts'
import type { Database } from '../../../db/database.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { doubtfulProperties } from './requested-properties.ts'

/** Custom properties that a setting asks for and that the reference data do not hold. */
export type UnknownProperties = { setting: string; ids: string[] }

/**
 * What the settings ask for that exists nowhere, as far as the reference data in force tell: a service leaves such ids
 * out without a word, and a search that brings no page says nothing of them either. Empty before the first fetch.
 *
 * @param told ids that the report names already, because the pages of the search left them out.
 */
export async function unknownProperties(
  db: Database,
  { customPropertyIds, searches }: Pick<Config['pull'], 'customPropertyIds' | 'searches'>,
  { names }: Pick<Contract, 'names'>,
  told: ReadonlySet<string>,
): Promise<UnknownProperties[]> {
  const members: Partial<Record<SearchSettings['search'], string>> = {
    companiesSearch: names.companiesSearch.customPropertyIds,
    frameworkAnswersSearch: names.frameworkAnswersSearch.customPropertyIds,
  }
  const asked = [
    { setting: 'pull.customPropertyIds', ids: customPropertyIds.filter((id) => !told.has(id)) },
    ...searches.map(({ name, search, body }) => {
      const member = members[search]
      const ids: unknown = member === undefined ? [] : body[member]
      return { setting: `The search ${name} in pull.searches`, ids: Array.isArray(ids) ? ids.filter(isText) : [] }
    }),
  ]
  const found: UnknownProperties[] = []
  for (const { setting, ids } of asked) {
    const doubtful = await doubtfulProperties(db, ids)
    const unknown = doubtful.filter(({ why }) => why === 'unknown').map(({ property_id }) => property_id)
    if (unknown.length > 0) found.push({ setting, ids: unknown })
  }
  return found
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
