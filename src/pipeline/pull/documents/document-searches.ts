import { sql, type Transaction } from 'kysely'
import type { SearchSettings } from '../../../config/job-settings.ts'
import { lockRun } from '../../../db/runs/run-life.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Run } from '../../../db/tables/run-tables.ts'
import { unfinishedStates } from '../../../db/tables/submission-tables.ts'
import type { Deps } from '../../deps.ts'
import { storePayload } from '../../push/sending/payload.ts'
import { documentKindNames, documentKindOf } from '../../streams/kind-names.ts'
import { stoodBefore } from '../merge/known-companies.ts'
import { isSuspicious } from '../merge/unrenewed-parts.ts'
import { hashPrefix, idMembersOf } from './document-assembler.ts'

/**
 * Plans a submission for each search of `pull.searches`, once in a run, and waits for them and their pages. One that
 * the service could not do is left as it is: the report says so, and nothing else waits for it or fails over it.
 * A run that the guard holds asks the service for nothing.
 *
 * @param only the name of the one search that is wanted; null: all.
 * @returns true while one of the searches or of their pages is still under way.
 */
export async function planDocuments(deps: Deps, run: Run, only: string | null = null): Promise<boolean> {
  if (run.held) return false
  return await deps.db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return true
    const planned = await trx
      .selectFrom('submission')
      .select(['submission_id', 'partition', 'state'])
      .where('run_id', '=', run.run_id)
      .where('kind', 'in', documentKindNames)
      .where('state', '!=', 'abandoned')
      .execute()
    const names = new Set(planned.map(({ partition }) => partition))
    const missing = deps.config.pull.searches.filter(({ name }) => !names.has(name) && (only === null || name === only))
    for (const search of missing) await plan(deps, trx, run, search)
    if (missing.length > 0 || planned.some(({ state }) => unfinishedStates.includes(state))) return true
    if (planned.length === 0) return false
    const listed = await trx
      .selectFrom('search_page')
      .select('page_id')
      .where(
        'submission_id',
        'in',
        planned.map(({ submission_id }) => submission_id),
      )
      .where('state', '=', 'listed')
      .limit(1)
      .executeTakeFirst()
    return listed !== undefined
  })
}

/** The body is written with the plan: anyone who sends it needs no configuration that still knows the search. */
async function plan(deps: Deps, trx: Transaction<Schema>, run: Run, { name, search, body }: SearchSettings) {
  const { submission_id } = await trx
    .insertInto('submission')
    .values({ run_id: run.run_id, kind: documentKindOf(search), partition: name, state: 'planned', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const asked = JSON.stringify(body)
  const payload_bytes = await storePayload(trx, submission_id, once(asked))
  await trx.updateTable('submission').set({ payload_bytes, asked }).where('submission_id', '=', submission_id).execute()
  await deps.looks.atSubmissions(trx, [submission_id])
}

async function* once(text: string): AsyncGenerator<string> {
  yield text
}

/** Once every page of the run's searches for documents is loaded, or has failed: each search is ended on its own. */
export async function completeDocuments(deps: Deps, run: Run): Promise<void> {
  const searches = await deps.db
    .selectFrom('submission')
    .select(['submission_id', 'partition', 'task_status'])
    .where('run_id', '=', run.run_id)
    .where('kind', 'in', documentKindNames)
    .where('state', '=', 'settled')
    .where('error_code', 'is', null)
    .where('search_result', 'is', null)
    .orderBy('submission_id')
    .execute()
  for (const { submission_id, partition, task_status } of searches) {
    const configured = deps.config.pull.searches.find(({ name }) => name === partition)
    const finished = await deps.db.transaction().execute((trx) =>
      finishDocuments(trx, submission_id, {
        minSeenShare: configured?.minSeenShare ?? null,
        partial: task_status !== deps.contract.taskStatuses.success,
        idLists: new Set(configured === undefined ? [] : idMembersOf(deps.contract, configured).keys()),
      }),
    )
    deps.logger.info({ run_id: run.run_id, submission_id, search: partition, ...finished }, 'search_completed')
  }
}

/** Why absence proves nothing: from the search, or, the last three, from one of its lists. */
type DocumentsWithheldReason =
  | 'search_partial'
  | 'pages_not_loaded'
  | 'pages_guessed'
  | 'no_pages'
  | 'search_not_configured'
  | 'unidentified_documents'
  | 'list_missing'
  | 'too_few_documents'

export type FinishedDocuments = {
  /** Documents that were tombstoned. */
  documents: number
  /** True: nothing was tombstoned, for `reason`, or nothing in `lists`. */
  withheld: boolean
  reason: DocumentsWithheldReason | null
  /** Where other lists prove absence: those that do not, the first of them for `reason`. */
  lists?: string[]
}

export type FinishDocumentsOptions = {
  /** Below this share of what is known a list is suspiciously short. 0 to 1; null: nobody says any more. */
  minSeenShare: number | null
  /** Whether the service says that the search succeeded in part only. */
  partial: boolean
  /** Lists of whose elements the configuration or the contract says what makes up their id. */
  idLists: ReadonlySet<string>
}

/**
 * Ends a search for documents, once: what it should have returned and did not is tombstoned, and what it has seen is
 * forgotten. Tombstones nothing, and says why, when the search cannot prove absence; nothing in a list, when that
 * cannot.
 *
 * @returns null when it was ended before; nothing was done then.
 */
export async function finishDocuments(
  trx: Transaction<Schema>,
  submissionId: number,
  options: FinishDocumentsOptions,
): Promise<FinishedDocuments | null> {
  const evidence = await gatherDocumentsEvidence(trx, submissionId)
  if (evidence === null) return null
  const reason = reasonToWithholdDocuments(evidence, options)
  const finished: FinishedDocuments =
    reason === null ? await tombstoneByList(trx, submissionId, options) : { documents: 0, withheld: true, reason }
  await forgetImmaterial(trx, submissionId, finished.lists ?? [])
  await trx.deleteFrom('search_seen_document').where('submission_id', '=', submissionId).execute()
  await trx
    .updateTable('submission')
    .set({ search_result: JSON.stringify(finished) })
    .where('submission_id', '=', submissionId)
    .execute()
  return finished
}

/** Whether a search can prove absence in any of its lists: it is whole, and somebody knows it. Pure. */
function reasonToWithholdDocuments(
  evidence: DocumentsEvidence,
  { minSeenShare, partial }: FinishDocumentsOptions,
): DocumentsWithheldReason | null {
  if (minSeenShare === null) return 'search_not_configured'
  if (evidence.pages === 0) return 'no_pages'
  if (evidence.pagesNotLoaded > 0) return 'pages_not_loaded'
  if (evidence.pagesGuessed > 0) return 'pages_guessed'
  if (evidence.unidentified > 0) return 'unidentified_documents'
  return partial ? 'search_partial' : null
}

/** What is known of a search when its end is judged. */
type DocumentsEvidence = {
  pages: number
  pagesNotLoaded: number
  /** As `SearchEvidence` has it. */
  pagesGuessed: number
  /** Elements that were left out and could not be told from others: any that seems absent might be one of them. */
  unidentified: number
}

/**
 * Counts what speaks for and against absence, with the search locked: two that end one come one after the other.
 * @returns null when the search was ended before.
 */
async function gatherDocumentsEvidence(
  trx: Transaction<Schema>,
  submissionId: number,
): Promise<DocumentsEvidence | null> {
  const search = await trx
    .selectFrom('submission')
    .select('search_result')
    .where('submission_id', '=', submissionId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  if (search.search_result !== null) return null
  const { rows } = await sql<DocumentsEvidence>`
    select
      count(*) as pages,
      count(*) filter (where state <> 'loaded') as "pagesNotLoaded",
      count(*) filter (where guessed) as "pagesGuessed",
      coalesce(sum(unidentified), 0)::bigint as unidentified
    from search_page where submission_id = ${submissionId}`.execute(trx)
  return rows[0] ?? { pages: 0, pagesNotLoaded: 0, pagesGuessed: 0, unidentified: 0 }
}

/** Tombstones what the search has not seen, but for lists that do not prove absence. */
async function tombstoneByList(
  trx: Transaction<Schema>,
  submissionId: number,
  options: FinishDocumentsOptions,
): Promise<FinishedDocuments> {
  const evidence = await gatherLists(trx, submissionId)
  const withheld = evidence
    .map((of) => ({ list: of.list, reason: reasonToWithholdList(of, options) }))
    .filter(({ reason }) => reason !== null)
  const lists = withheld.map(({ list }) => list)
  const { numAffectedRows } = await sql`
    update document d set removed_at = statement_timestamp(), changed_at = statement_timestamp()
    from submission s
    where s.submission_id = ${submissionId} and d.search = s.partition and d.removed_at is null
      and d.list <> all(${lists}::text[])
      and not exists (
        select from search_seen_document z where z.submission_id = ${submissionId} and z.document_key = d.document_key
      )`.execute(trx)
  const documents = Number(numAffectedRows ?? 0)
  const [first] = withheld
  if (first === undefined) return { documents, withheld: false, reason: null }
  return { documents, withheld: true, reason: first.reason, lists }
}

/** What is known of one list of a search when its end is judged. */
type ListEvidence = {
  list: string
  /** Documents that stood here, not tombstoned, before the search brought its own. */
  known: number
  seen: number
  /** Of the known ones: those that stand under an id of their own, and how many of these were seen. */
  knownById: number
  seenById: number
  /** Whether a page of the search did not have the list. */
  missing: boolean
  /** Of its documents: those that stand under an id of their own, and those seen under a hash of their content. */
  identified: number
  hashed: number
}

/** Counts, for each list of which something was not seen, what speaks for and against its absence; by their names. */
async function gatherLists(trx: Transaction<Schema>, submissionId: number): Promise<ListEvidence[]> {
  const knownById = sql`${stoodBefore(submissionId)} and not starts_with(d.document_id, ${hashPrefix})`
  const { rows } = await sql<ListEvidence>`
    select d.list, count(*) filter (where ${stoodBefore(submissionId)}) as known, count(z.document_key) as seen,
      count(*) filter (where ${knownById}) as "knownById",
      count(z.document_key) filter (where ${knownById}) as "seenById",
      count(*) filter (where not starts_with(d.document_id, ${hashPrefix})) as identified,
      count(z.document_key) filter (where starts_with(d.document_id, ${hashPrefix})) as hashed,
      exists (
        select from quarantine q join search_page p using (page_id)
        where p.submission_id = ${submissionId} and q.reason = 'list_missing' and q.item = d.list
      ) as missing
    from submission s
    join document d on d.search = s.partition and d.removed_at is null
    left join search_seen_document z on z.submission_id = ${submissionId} and z.document_key = d.document_key
    where s.submission_id = ${submissionId}
    group by d.list
    having count(z.document_key) < count(*)
    order by d.list`.execute(trx)
  return rows
}

/**
 * Whether a list can prove absence. Beside elements with ids one without may be any that seems absent, while a list on
 * which the members of its ids are never found has none. Where no share need be seen, neither such an element nor a
 * page that lacks the list keeps anything. New elements with ids make up for none that are gone; those without ids do,
 * because one that changed is a new one. Pure.
 */
function reasonToWithholdList(
  list: ListEvidence,
  { minSeenShare, idLists }: FinishDocumentsOptions,
): DocumentsWithheldReason | null {
  const share = minSeenShare ?? 1
  const mixed = list.hashed > 0 && list.identified > 0 && idLists.has(list.list)
  if (share > 0 && mixed) return 'unidentified_documents'
  if (share > 0 && list.missing) return 'list_missing'
  const byId = { seen: list.seenById, known: list.knownById }
  if (isSuspicious(list, share) || (idLists.has(list.list) && isSuspicious(byId, share))) return 'too_few_documents'
  return null
}

/** Forgets that pages lacked lists, but for those in which that has kept documents. */
async function forgetImmaterial(trx: Transaction<Schema>, submissionId: number, lists: readonly string[]) {
  await sql`
    delete from quarantine q using search_page p
    where p.page_id = q.page_id and p.submission_id = ${submissionId} and q.reason = 'list_missing'
      and q.item <> all(${lists}::text[])`.execute(trx)
}
