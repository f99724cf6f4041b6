import { sql, type Transaction } from 'kysely'
import { storableText } from '../../db/copy-text.ts'
import { withPageLock } from '../../db/locks/advisory-lock.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { SearchPage } from '../../db/tables/service-tables.ts'
import type { Submission } from '../../db/tables/submission-tables.ts'
import { AnswerFormatError, DownloadFailed, HttpError, proxyDeniedCode, saysUnknown } from '../../exchange/errors.ts'
import type { Deps, Yields } from '../deps.ts'
import { serviceAnswers } from '../push/move-submission.ts'
import { openResult } from '../reading/page-limits.ts'
import { isDocumentKind } from '../streams/kind-names.ts'
import { hasLasted, longestPauseMs, retriesWithin, retryInMs } from '../when-to-look.ts'
import { loadDocumentsPage } from './documents/load-documents.ts'
import { loadPage } from './load-page.ts'
import { askedOf } from './search/search-pages.ts'

/**
 * Attempts at a page that is not there, or that cannot be read, before it counts as failed. Other trouble, as when
 * nobody answers, is borne for `exchange.giveUpAfterMs`, as it is everywhere.
 */
const attempts = 6

/** Of a download: the address has expired, or the file is gone. Another address may lead to it. */
const goneCode = 'page_gone'

/** Of a download: nobody answers, or not as is to be expected. It says nothing of the page. */
const passingCode = 'download_failed'

/**
 * What says that a page cannot be had or read as it is; anything else is trouble of ours and is tried again by the
 * engine.
 */
const pageCodes = new Set([passingCode, 'download_refused', 'page_malformed', 'search_not_configured'])

/** Of these: what another attempt will not fix. */
const lastingCodes = new Set(['download_refused', 'search_not_configured'])

type ListedPage = SearchPage & {
  run_id: number
  correlation_id: string | null
  kind: string
  partition: string
  asked: Submission['asked']
}

/**
 * Loads one page of a search, whole or not at all. A page that was loaded is left alone. An expired address is renewed
 * through the task; a page that cannot be had is marked failed with its reason, and the others go on.
 *
 * @param options.stopping aborts when the process may wait no longer: the page is left as it was, for anyone who looks
 *   next.
 * @param options.yields what is left of the run to other processes, which may know a search that this one does not:
 *   then its page is tried again. Of a run that is left altogether no page counts as failed.
 * @returns false when another look holds the page's lock, so that nothing was done.
 */
export async function lookAtPage(
  deps: Deps,
  pageId: number,
  { stopping, yields }: { stopping?: AbortSignal; yields?: (runId: number) => Yields } = {},
): Promise<boolean> {
  return await withPageLock(deps.pool, pageId, async () => {
    const page = await deps.db
      .selectFrom('search_page')
      .innerJoin('submission', 'submission.submission_id', 'search_page.submission_id')
      .innerJoin('run', 'run.run_id', 'submission.run_id')
      .selectAll('search_page')
      .select([
        'submission.run_id',
        'submission.correlation_id',
        'submission.kind',
        'submission.partition',
        'submission.asked',
      ])
      .where('page_id', '=', pageId)
      .where('search_page.state', '=', 'listed')
      .where('run.state', '=', 'running')
      .executeTakeFirst()
    if (page === undefined) return
    try {
      if (isDocumentKind(page.kind)) await loadDocumentsPage(deps, page, (trx) => atEnd(deps, trx, page), stopping)
      else await load(deps, page, stopping)
    } catch (error) {
      if (error instanceof RunEnded || stopping?.aborted === true) return
      const { code } = error as { code?: string }
      const left = yields?.(page.run_id) ?? 'nothing'
      if (code === undefined || !pageCodes.has(code) || left === 'all') throw error
      const lasting = lastingCodes.has(code) && !(left === 'foreign' && code === 'search_not_configured')
      await pageFailed(deps, page, error as Error & { code: string }, lasting)
    }
  })
}

async function load(deps: Deps, page: ListedPage, stopping?: AbortSignal): Promise<void> {
  const { maxDepth, maxElementSize, minSeenShare } = deps.config.pull
  const { calculatorTypeIds } = askedOf(page.asked, deps.config)
  const open = async () => {
    const { body } = await openResult(deps, page.url, stopping)
    return { body, close: () => void body.destroy() }
  }
  const counts = await loadPage(deps.pool, page, open, {
    contract: deps.contract,
    calculatorTypeIds,
    minSeenShare,
    limits: { maxDepth, maxElementSize, maxQuarantineRows: 1_000 },
    atEnd: (trx) => atEnd(deps, trx, page),
  })
  deps.logger.info({ run_id: page.run_id, page_id: page.page_id, ...counts }, 'page_loaded')
}

async function atEnd(deps: Deps, trx: Transaction<Schema>, page: ListedPage): Promise<void> {
  await lockRunning(trx, page.run_id)
  await deps.looks.atRun(trx, page.run_id)
}

/** A run that ended while its page was loading: a later run's pages may be here already, and they are newer. */
class RunEnded extends Error {}

async function lockRunning(trx: Transaction<Schema>, runId: number): Promise<void> {
  const { state } = await trx
    .selectFrom('run')
    .select('state')
    .where('run_id', '=', runId)
    .forShare()
    .executeTakeFirstOrThrow()
  if (state !== 'running') throw new RunEnded(`run ${runId} has ended`)
}

async function pageFailed(
  deps: Deps,
  page: ListedPage,
  error: Error & { code: string },
  lasting: boolean,
): Promise<void> {
  const askedMs = error instanceof DownloadFailed ? error.retryAfterMs : null
  const code = error instanceof DownloadFailed && error.renewable ? goneCode : error.code
  // A longer wait that the server asks for counts as the attempts that would fit into it.
  const waited = code === passingCode ? Math.ceil((askedMs ?? 0) / longestPauseMs) : 0
  const failures = page.failures + Math.max(1, waited)
  const fresh = error instanceof DownloadFailed && error.renewable ? await renewAddresses(deps, page) : undefined
  // Behind other trouble the page has a second attempt: its address may have expired meanwhile.
  const isMissing = failures >= attempts && code !== passingCode && page.error_code !== passingCode
  const { giveUpAfterMs } = deps.config.exchange
  const passes = code === passingCode
  const since = page.error_code === passingCode && page.failing_since !== null ? page.failing_since : deps.now()
  // By time as well: an attempt at a host that does not answer takes as long as the longest pause.
  const isLate = passes && hasLasted(since, deps.now(), giveUpAfterMs)
  const over = lasting || isMissing || isLate || failures >= retriesWithin(giveUpAfterMs)
  deps.logger.warn({ run_id: page.run_id, page_id: page.page_id, code, reason: error.message, failures }, 'page_failed')
  // It may quote a name of the page.
  const error_message = storableText(error.message)
  await deps.db.transaction().execute(async (trx) => {
    await trx
      .updateTable('search_page')
      .set({
        failures,
        failing_since: passes ? since : null,
        ...(fresh !== undefined && { url: fresh.url, guessed: page.guessed || fresh.guessed }),
        error_code: code,
        error_message,
        state: over ? 'failed' : 'listed',
      })
      .where('page_id', '=', page.page_id)
      .where('state', '=', 'listed')
      .execute()
    if (over) await deps.looks.atRun(trx, page.run_id)
    else await deps.looks.atPages(trx, [page.page_id], retryInMs(failures, askedMs))
  })
}

type Address = Pick<SearchPage, 'url' | 'guessed'>

/**
 * Asks the task for its addresses once more, and renews those of all pages that are still to be loaded: they expire
 * together, and the task of a large search is large.
 * @returns the page's own, if the task is still known.
 */
async function renewAddresses(deps: Deps, page: ListedPage): Promise<Address | undefined> {
  if (page.correlation_id === null) return undefined
  try {
    const { pageUrls } = await deps.exchange.getTask(page.correlation_id)
    await renewOthers(deps, page, pageUrls)
    const { url, guessed } = renewedUrl(page, pageUrls)
    return { url: storableText(url), guessed }
  } catch (error) {
    // The service has forgotten the task: the page is lost, and the run goes on without it.
    if (saysUnknown(error) || concernsThisCall(error) || (await concernsThisTask(deps, error))) return undefined
    throw error
  }
}

/** Of the others those whose paths tell them apart, and none that is being loaded. */
async function renewOthers({ db }: Deps, page: ListedPage, pageUrls: readonly string[]): Promise<void> {
  const byPlace = Map.groupBy(pageUrls, placeOf)
  const listed = await db
    .selectFrom('search_page')
    .select(['page_id', 'url'])
    .where('submission_id', '=', page.submission_id)
    .where('state', '=', 'listed')
    .where('page_id', '!=', page.page_id)
    .execute()
  const renewed = listed.flatMap(({ page_id, url }) => {
    const [only, ...more] = byPlace.get(placeOf(url)) ?? []
    return only === undefined || more.length > 0 || only === url ? [] : [{ page_id, url: storableText(only) }]
  })
  if (renewed.length === 0) return
  await sql`
    update search_page set url = renewed.url
    from unnest(${renewed.map(({ page_id }) => page_id)}::bigint[], ${renewed.map(({ url }) => url)}::text[])
      as renewed (page_id, url)
    where search_page.page_id in (
        select page_id from search_page
        where submission_id = ${page.submission_id} and state = 'listed' for no key update skip locked)
      and search_page.page_id = renewed.page_id`.execute(db)
}

/**
 * Whether a failed call says nothing of the service as a whole, such as a 403 or a redirect of a gateway: no reason to
 * end a run whose other pages can be loaded. The page's attempts bound it. Pure.
 */
function concernsThisCall(error: unknown): boolean {
  if (error instanceof AnswerFormatError) return error.tooLong
  return error instanceof HttpError && (error.code === 'exchange_forbidden' || error.code === 'exchange_refused')
}

/** Whether the service answers others while a call about one task fails. A key that it does not know stops all. */
async function concernsThisTask({ exchange }: Deps, error: unknown): Promise<boolean> {
  const { code } = error as { code?: string }
  return code !== 'exchange_unauthorized' && code !== proxyDeniedCode && (await serviceAnswers(exchange))
}

/**
 * The address under which a task lists a page again. Pure. What is renewed is some of the query, so the page is the one
 * with the same path, and of several with the same path the one with most of the query. Where no path is the same, or
 * several have as much of the query, the place in the list is all there is: a guess, for once the service lists its
 * pages in another order one page is loaded twice and another never.
 */
export function renewedUrl(page: { url: string; ordinal: number }, pageUrls: readonly string[]): Address {
  const same = pageUrls.filter((url) => placeOf(url) === placeOf(page.url))
  const alike = same.map((url) => queryInCommon(url, page.url))
  const most = Math.max(...alike)
  const likest = same.filter((_, at) => alike[at] === most)
  const [only] = likest
  if (only !== undefined && likest.length === 1 && (same.length === 1 || most > 0)) return { url: only, guessed: false }
  const url = pageUrls[page.ordinal]
  return url === undefined ? { url: page.url, guessed: false } : { url, guessed: pageUrls.length > 1 }
}

/** How many members of their queries two addresses share. */
function queryInCommon(one: string, other: string): number {
  const members = (url: string) => (URL.canParse(url) ? [...new URL(url).searchParams].map(String) : [])
  const known = new Set(members(other))
  return members(one).filter((member) => known.has(member)).length
}

function placeOf(url: string): string {
  if (!URL.canParse(url)) return url
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
