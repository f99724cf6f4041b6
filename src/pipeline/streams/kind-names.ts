import type { BulkRequest, Contract } from '../../exchange/contract.ts'

/**
 * The kinds of bulk request that the specification shows and that carry rows, in the order in which waves are planned.
 */
export const kindNames = [
  'company_mappings',
  'framework_answers',
  'calculators',
  'companies',
  'standard_holders',
] as const
export type KindName = (typeof kindNames)[number]

/** The kind of the calculator search: a submission like the others, without rows. */
export const searchKind = 'calculators_search'

/** The kinds of the other searches, whose pages are kept as documents: each with its endpoint in the contract. */
export const documentKinds = {
  companies_search: 'companiesSearch',
  standards_search: 'standardsSearch',
  standard_holders_search: 'standardHoldersSearch',
  framework_answers_search: 'frameworkAnswersSearch',
} as const satisfies Record<string, BulkRequest>
type DocumentKind = keyof typeof documentKinds

export const documentKindNames = Object.keys(documentKinds) as DocumentKind[]

/** Every kind of search. Submissions of these carry no rows. */
export const searchKinds: readonly string[] = [searchKind, ...documentKindNames]

export function isDocumentKind(name: string): name is DocumentKind {
  return Object.hasOwn(documentKinds, name)
}

/** The kind of the submissions of a search for documents. */
export function documentKindOf(search: (typeof documentKinds)[DocumentKind]): DocumentKind {
  const kind = documentKindNames.find((name) => documentKinds[name] === search)
  if (kind === undefined) throw new Error(`no kind of submission makes the search ${search}`)
  return kind
}

/** Every kind that carries rows, in the order in which waves are planned: ours, then what the contract adds. */
export function kindNamesOf({ kinds: added }: Contract): string[] {
  return [...kindNames, ...added.map(({ name }) => name)]
}
