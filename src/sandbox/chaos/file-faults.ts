import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import type { Queryable } from '../running-sandbox.ts'
import { asBulkRequest } from '../tasks/sandbox-task.ts'
import type { Chaos } from './chaos.ts'
import { malformedPages, type PageCaseName, pageCases } from './page-cases/page-cases.ts'
import { pickCase } from './profile.ts'
import { fileProfile, pagesCut, redirectElsewhere, requestProfile } from './profiles.ts'
import type { Ending } from './send-broken.ts'

/** A result file as chaos sees it. */
export type StruckFile = {
  /** Under which it is judged: its task's place in the order of all tasks, and its place among the task's files. */
  occasion: string
  bytes: number
  /** The name of the list that the file holds. */
  list: string
  isCalculatorsPage: boolean
  /** The page beside it, of a search with several. */
  neighbour: string | null
}

/** The complete file behind a token, or null; also for a file that is no result, such as a report. */
export async function findStruckFile(db: Queryable, contract: Contract, token: string): Promise<StruckFile | null> {
  const { rows } = await db.query<{
    sequence: string
    request: string
    ordinal: number
    bytes: string
    neighbour: string | null
  }>(
    `select t.sequence, t.request, f.ordinal, f.bytes,
       (select beside.token from sandbox.file beside
        where beside.task_id = t.id and beside.ordinal = case f.ordinal when 0 then 1 else f.ordinal - 1 end)
          as neighbour
     from sandbox.file f join sandbox.task t on t.id = f.task_id
     where f.token = $1 and f.bytes is not null and f.ordinal >= 0 and t.finished_at is not null`,
    [token],
  )
  const row = rows[0]
  const list = row && lists[asBulkRequest(row.request)]?.(contract.names)
  if (!row || list === undefined) return null
  return {
    occasion: `file ${row.sequence}/${row.ordinal}`,
    bytes: Number(row.bytes),
    list,
    isCalculatorsPage: row.request === 'calculatorsSearch',
    neighbour: row.neighbour,
  }
}

/** The name of the list in the file of each request that has files. */
const lists: Readonly<Partial<Record<BulkRequest, (names: Contract['names']) => string>>> = {
  companyMappings: (names) => names.companyMappingsResult.companies,
  calculatorsUpsert: (names) => names.calculatorsResult.companies,
  calculatorsSearch: (names) => names.calculatorsPage.companies,
  companiesSearch: (names) => names.companiesPage.companies,
  standardsSearch: (names) => names.standardsPage.standards,
  standardHoldersSearch: (names) => names.standardHoldersPage.holders,
  frameworkAnswersSearch: (names) => names.frameworkAnswersPage.companies,
}

/** What happens instead of giving the file. */
export type FileRefusal = 'expired' | 'missing' | 'unknown-host' | 'private-address' | 'other-name'

/** What happens to a request for a result file, and the names under which the log tells it. */
export type FileFaults = {
  struck: string[]
  refusal: FileRefusal | null
  /** In the order in which the changes are made. */
  hasGuest: boolean
  hasUnknownFields: boolean
  /** Begins the order of members, or null: they keep theirs. */
  shuffle: number | null
  malformed: PageCaseName | null
  coding: 'unannounced' | 'announced-only' | 'bomb' | null
  /** `missing`: the share of the bytes, or of a bounded number of them, that does not come. */
  sending: { how: Ending | 'slow'; missing: number } | null
}

/**
 * What strikes a request for a result file. When several profiles do:
 * 1. the first of these refuses it, and nothing else happens: pages-expired, pages-missing, redirect-elsewhere;
 * 2. what the file says is changed, one change after the other: company-on-two-pages, unknown-fields, pages-shuffled,
 *    malformed-pages;
 * 3. its bytes become those of the first of these: decompression-bomb, gzip-unannounced, gzip-announced-only;
 * 4. and are sent as the first of these has it: pages-stalled, pages-cut, pages-slow.
 */
export function strikeFile(chaos: Chaos, file: StruckFile, isLoopback: boolean): FileFaults {
  const { occasion } = file
  const struck: string[] = []
  const strikes = ({ name }: { name: string }, isPossible = true) => {
    const does = isPossible && chaos.strikes(name, occasion)
    if (does) struck.push(name)
    return does
  }
  const picked = <Case extends string>(choice: { case: Case; name: string } | null): Case | null => {
    if (choice) struck.push(choice.name)
    return choice?.case ?? null
  }
  const refusal =
    (strikes(fileProfile.pagesExpired) ? ('expired' as const) : null) ??
    (strikes(fileProfile.pagesMissing) ? ('missing' as const) : null) ??
    picked(pickCase(chaos, redirectElsewhere, occasion, (name) => name !== 'other-name' || isLoopback))
  const nothing = { hasGuest: false, hasUnknownFields: false, shuffle: null, malformed: null, coding: null }
  if (refusal) return { struck, refusal, ...nothing, sending: null }
  const hasGuest = strikes(fileProfile.companyOnTwoPages, file.neighbour !== null)
  const hasUnknownFields = strikes(requestProfile.unknownFields)
  const shuffle = strikes(fileProfile.pagesShuffled) ? chaos.measure(fileProfile.pagesShuffled.name, occasion) : null
  const isPossible = (name: PageCaseName) => file.isCalculatorsPage || !pageCases[name].calculatorsOnly
  const malformed = picked(pickCase(chaos, malformedPages, occasion, isPossible))
  const coding =
    (strikes(fileProfile.decompressionBomb) ? ('bomb' as const) : null) ??
    (strikes(fileProfile.gzipUnannounced) ? ('unannounced' as const) : null) ??
    (strikes(fileProfile.gzipAnnouncedOnly) ? ('announced-only' as const) : null)
  const how =
    (strikes(fileProfile.pagesStalled) ? ('never' as const) : null) ??
    picked(pickCase(chaos, pagesCut, occasion)) ??
    (strikes(fileProfile.pagesSlow) ? ('slow' as const) : null)
  const sending = how && { how, missing: chaos.measure('missing bytes', occasion) }
  return { struck, refusal: null, hasGuest, hasUnknownFields, shuffle, malformed, coding, sending }
}
