import { sql, type Transaction } from 'kysely'
import type { SearchSettings } from '../../../config/job-settings.ts'
import { lockRun } from '../../../db/runs/run-life.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Run } from '../../../db/tables/run-tables.ts'
import type { Deps } from '../../deps.ts'
import { storePayload } from '../../push/sending/payload.ts'
import { unfinishedStates } from '../../push/submission-state.ts'
import { documentKindNames, documentKindOf } from '../../streams/kind-names.ts'

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
      }),
    )
    deps.logger.info({ run_id: run.run_id, submission_id, search: partition, ...finished }, 'search_completed')
  }
}

/** Why absence from the search proves nothing. */
type DocumentsWithheldReason =
  | 'search_partial'
  | 'pages_not_loaded'
  | 'pages_guessed'
  | 'no_pages'
  | 'unidentified_documents'
  | 'too_few_documents'
  | 'search_not_configured'

export type FinishedDocuments = {
  /** Documents that were tombstoned. */
  documents: number
  /** True: nothing was tombstoned, for `reason`. */
  withheld: boolean
  reason: DocumentsWithheldReason | null
}

export type FinishDocumentsOptions = {
  /** Below this share of what is known the search returned suspiciously little. 0 to 1; null: nobody says any more. */
  minSeenShare: number | null
  /** Whether the service says that the search succeeded in part only. */
  partial: boolean
}

/**
 * Ends a search for documents, once: what it should have returned and did not is tombstoned, and what it has seen is
 * forgotten. Tombstones nothing, and says why, when the search cannot prove absence.
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
  const documents = reason === null ? await tombstoneUnseenDocuments(trx, submissionId) : 0
  await forgetSeenDocuments(trx, submissionId)
  const finished = { documents, withheld: reason !== null, reason }
  await trx
    .updateTable('submission')
    .set({ search_result: JSON.stringify(finished) })
    .where('submission_id', '=', submissionId)
    .execute()
  return finished
}

/** Whether a search can prove absence. Pure. */
function reasonToWithholdDocuments(
  evidence: DocumentsEvidence,
  { minSeenShare, partial }: FinishDocumentsOptions,
): DocumentsWithheldReason | null {
  if (minSeenShare === null) return 'search_not_configured'
  if (evidence.pages === 0) return 'no_pages'
  if (evidence.pagesNotLoaded > 0) return 'pages_not_loaded'
  if (evidence.pagesGuessed > 0) return 'pages_guessed'
  if (evidence.unidentified > 0) return 'unidentified_documents'
  if (partial) return 'search_partial'
  return evidence.seen < evidence.known * minSeenShare ? 'too_few_documents' : null
}

/** What is known of a search when its end is judged. */
type DocumentsEvidence = {
  pages: number
  pagesNotLoaded: number
  /** As `SearchEvidence` has it. */
  pagesGuessed: number
  /** Elements on its pages that could not be told from others: any that seems absent might be one of them. */
  unidentified: number
  /** Documents that stood here, not tombstoned, before the search brought its own. */
  known: number
  seen: number
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
    .select(['partition', 'search_result'])
    .where('submission_id', '=', submissionId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  if (search.search_result !== null) return null
  const { rows } = await sql<DocumentsEvidence>`
    select
      count(*) as pages,
      count(*) filter (where state <> 'loaded') as "pagesNotLoaded",
      count(*) filter (where guessed) as "pagesGuessed",
      coalesce(sum(unidentified), 0)::bigint as unidentified,
      (select count(*) from document where search = ${search.partition} and removed_at is null)
        - coalesce(sum(added), 0)::bigint as known,
      (select count(*) from search_seen_document where submission_id = ${submissionId}) as seen
    from search_page where submission_id = ${submissionId}`.execute(trx)
  return rows[0] ?? { pages: 0, pagesNotLoaded: 0, pagesGuessed: 0, unidentified: 0, known: 0, seen: 0 }
}

/** Tombstones the documents of the search that it has not seen. @returns how many. */
async function tombstoneUnseenDocuments(trx: Transaction<Schema>, submissionId: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update document d set removed_at = statement_timestamp(), changed_at = statement_timestamp()
    from submission s
    where s.submission_id = ${submissionId} and d.search = s.partition and d.removed_at is null
      and not exists (
        select from search_seen_document z where z.submission_id = ${submissionId} and z.document_key = d.document_key
      )`.execute(trx)
  return Number(numAffectedRows ?? 0)
}

async function forgetSeenDocuments(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await trx.deleteFrom('search_seen_document').where('submission_id', '=', submissionId).execute()
}
