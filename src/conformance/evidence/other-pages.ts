import type { Bench } from '../bench.ts'
import { objectsOf, type WireObject } from '../wire-json.ts'
import { type Pages, pagesOf, type SearchName, searches } from './searches.ts'

/** The searches whose pages the specification does not show. */
export const otherSearches = {
  companies: { shape: 'companiesPage', list: 'companies' },
  standards: { shape: 'standardsPage', list: 'standards' },
  standardHolders: { shape: 'standardHoldersPage', list: 'holders' },
  frameworkAnswers: { shape: 'frameworkAnswersPage', list: 'companies' },
} as const satisfies Partial<Record<SearchName, unknown>>
export type OtherSearch = keyof typeof otherSearches

/** The first pages of one of these searches, noted. */
export function otherPages(bench: Bench, search: OtherSearch): Promise<Pages> {
  return bench.once(`noted pages of ${search}`, async () => {
    const pages = await pagesOf(bench, (await searches(bench)).runs[search])
    for (const page of pages.documents) bench.note(otherSearches[search].shape, page)
    return pages
  })
}

/** The records on those pages. */
export async function recordsOf(bench: Bench, search: OtherSearch): Promise<WireObject[]> {
  const { documents } = await otherPages(bench, search)
  return documents.flatMap((page) => objectsOf((page as WireObject | null)?.[listNameOf(bench, search)]))
}

function listNameOf({ contract }: Pick<Bench, 'contract'>, search: OtherSearch): string {
  const names = contract.names
  switch (search) {
    case 'companies':
      return names.companiesPage.companies
    case 'standards':
      return names.standardsPage.standards
    case 'standardHolders':
      return names.standardHoldersPage.holders
    case 'frameworkAnswers':
      return names.frameworkAnswersPage.companies
  }
}
