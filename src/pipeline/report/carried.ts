import { counted, grouped } from '../../counted.ts'
import type { StreamReport } from '../../db/runs/report-rows.ts'
import type { SearchReport } from '../../db/runs/search-reports.ts'
import type { DocumentReport } from '../pull/documents/document-reports.ts'

/**
 * So few rows prove nothing when none of them is taken: what is wrong may be the rows of one hotel, of which people are
 * told anyway. Larger, it would hide a way that is closed from a partner with few rows.
 */
const fewRows = 10

/**
 * The part of rows or pages that has to arrive. Not one alone: of 90,000 rows the service takes some by chance. Not
 * many either: as long as some arrive, the way is open, and people are told of the rest as of rows or pages.
 */
export const leastShare = 0.01

type Streams = readonly Pick<
  StreamReport,
  'changed' | 'invalid' | 'invalid_suspended' | 'behind' | 'sent' | 'confirmed' | 'inferred' | 'rejected_again'
>[]

type Searches = {
  calculators: readonly Pick<SearchReport, 'pages' | 'failed_pages'>[]
  /** The calculator search ended without telling of pages. */
  broughtNothing: boolean
  documents: readonly Pick<DocumentReport, 'pages' | 'failed_pages' | 'state' | 'error_code'>[]
}

/**
 * Why a finished run did not carry the data through, in a sentence; none where it did. A run that had nothing to send
 * and nothing to load did. Pure.
 */
export function notCarriedRemarks(streams: Streams, { calculators, broughtNothing, documents }: Searches): string[] {
  const reasons = [
    ...untakenWords(streams),
    ...unloadedWords('the calculator search', calculators, broughtNothing),
    ...unloadedWords(
      'the searches for documents',
      documents,
      documents.length > 0 && documents.every(({ state, error_code }) => state !== 'settled' || error_code !== null),
    ),
  ]
  if (reasons.length === 0) return []
  return [`This run does not count as one that carried the data through: ${reasons.join('; ')}.`]
}

/**
 * What could not be sent counts as far as it may be new: rows that have stood invalid for weeks keep no night from
 * counting, and a source that breaks all of its rows does. Nor do rows that are tried again each night, such as hotels
 * that the service does not know, and are rejected once more. Parked rows wait for others, which count.
 */
function untakenWords(streams: Streams): string[] {
  const sum = (count: (stream: Streams[number]) => number) => streams.reduce((total, one) => total + count(one), 0)
  const taken = sum(({ confirmed, inferred }) => confirmed + inferred)
  const due = sum(
    ({ sent, rejected_again = 0, invalid, invalid_suspended = 0, behind, changed }) =>
      sent - rejected_again + Math.min(invalid - invalid_suspended + behind, changed),
  )
  if (due < fewRows || taken >= due * leastShare) return []
  return [`the service took ${grouped(taken)} of ${counted(due, 'row')}`]
}

type Pages = readonly { pages: number; failed_pages: number }[]

function unloadedWords(what: string, searches: Pages, broughtNothing: boolean): string[] {
  const pages = searches.reduce((sum, search) => sum + search.pages, 0)
  const loaded = pages - searches.reduce((sum, { failed_pages }) => sum + failed_pages, 0)
  if (pages > 0 && loaded < pages * leastShare)
    return [`${grouped(loaded)} of ${counted(pages, 'page')} of ${what} were loaded`]
  return pages === 0 && broughtNothing ? [`${what} brought nothing`] : []
}
