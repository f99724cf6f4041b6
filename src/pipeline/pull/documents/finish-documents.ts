import type { Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import {
  type DocumentsEvidence,
  forgetSeenDocuments,
  gatherDocumentsEvidence,
  tombstoneUnseenDocuments,
} from './retire-documents.ts'

/** Why absence from the search proves nothing. */
type DocumentsWithheldReason =
  | 'search_partial'
  | 'pages_not_loaded'
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
  if (evidence.unidentified > 0) return 'unidentified_documents'
  if (evidence.seen < evidence.known * minSeenShare) return 'too_few_documents'
  return partial ? 'search_partial' : null
}
