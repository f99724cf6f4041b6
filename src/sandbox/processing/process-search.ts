import type { ReadRequest } from '../requests/read-bulk-request.ts'
import { inTransaction, type Queryable } from '../running-sandbox.ts'
import type { Outcome } from '../tasks/sandbox-task.ts'
import { searchCalculators } from './search/search-calculators.ts'
import { searchCompanies } from './search/search-companies.ts'
import { searchFrameworkAnswers } from './search/search-framework-answers.ts'
import { searchStandardHolders } from './search/search-standard-holders.ts'
import { searchStandards } from './search/search-standards.ts'
import { type Listing, writePages } from './search/write-pages.ts'
import type { Work } from './work.ts'

type AnySearch = Extract<
  ReadRequest,
  {
    kind:
      | 'calculatorsSearch'
      | 'companiesSearch'
      | 'standardsSearch'
      | 'standardHoldersSearch'
      | 'frameworkAnswersSearch'
  }
>

/** Writes the pages of a search, as everything is at one moment. */
export async function processSearch(work: Work, request: AnySearch): Promise<Outcome> {
  return inTransaction(work.sandbox.pool, async (snapshot) => {
    await snapshot.query('set transaction isolation level repeatable read, read only')
    return writePages(work, listingOf(work, request, snapshot))
  })
}

function listingOf(work: Work, request: AnySearch, snapshot: Queryable): Listing {
  switch (request.kind) {
    case 'calculatorsSearch':
      return searchCalculators(work, request.body, snapshot)
    case 'companiesSearch':
      return searchCompanies(work, request.body, snapshot)
    case 'standardsSearch':
      return searchStandards(work)
    case 'standardHoldersSearch':
      return searchStandardHolders(work, request.body, snapshot)
    case 'frameworkAnswersSearch':
      return searchFrameworkAnswers(work, request.body, snapshot)
  }
}
