import type { DocumentReport } from '../pull/documents/document-reports.ts'

/** What is not simply well with the searches for documents, one sentence each. Pure. */
export function documentRemarks(searches: readonly DocumentReport[]): string[] {
  return searches.flatMap((search) => {
    const failure = failureOf(search)
    if (failure !== null) {
      return [`The search ${search.search} brought nothing: ${failure}. Its documents stand as they were.`]
    }
    const remarks = []
    if (search.failed_pages > 0) {
      remarks.push(
        `${counts(search.failed_pages, 'page')} of the search ${search.search} could not be loaded: ${search.first_error ?? ''}`,
      )
    }
    if (search.quarantined > 0) {
      remarks.push(
        `${counts(search.quarantined, 'element')} on the pages of the search ${search.search} ${search.quarantined === 1 ? 'was' : 'were'} left out; the table quarantine says which and why.`,
      )
    }
    if (search.withheld !== null) {
      remarks.push(
        `Of the documents of ${search.search} nothing was removed, for the search does not prove absence: ${search.withheld}.`,
      )
    }
    return remarks
  })
}

/** Why a search brought no pages: refused, lost, or ended without success; null where it did. */
function failureOf({ state, error_code, error_message }: DocumentReport): string | null {
  if (state === 'settled' && error_code === null) return null
  return [error_code, error_message?.replace(/\.$/, '') ?? state].filter((part) => part !== null).join(': ')
}

function counts(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
