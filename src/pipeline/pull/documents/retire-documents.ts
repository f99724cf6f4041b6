import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** What is known of a search when its end is judged. */
export type DocumentsEvidence = {
  pages: number
  pagesNotLoaded: number
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
export async function gatherDocumentsEvidence(
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
      coalesce(sum(unidentified), 0)::bigint as unidentified,
      (select count(*) from document where search = ${search.partition} and removed_at is null)
        - coalesce(sum(added), 0)::bigint as known,
      (select count(*) from search_seen_document where submission_id = ${submissionId}) as seen
    from search_page where submission_id = ${submissionId}`.execute(trx)
  return rows[0] ?? { pages: 0, pagesNotLoaded: 0, unidentified: 0, known: 0, seen: 0 }
}

/** Tombstones the documents of the search that it has not seen. @returns how many. */
export async function tombstoneUnseenDocuments(trx: Transaction<Schema>, submissionId: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update document d set removed_at = statement_timestamp(), changed_at = statement_timestamp()
    from submission s
    where s.submission_id = ${submissionId} and d.search = s.partition and d.removed_at is null
      and not exists (
        select from search_seen_document z where z.submission_id = ${submissionId} and z.document_key = d.document_key
      )`.execute(trx)
  return Number(numAffectedRows ?? 0)
}

export async function forgetSeenDocuments(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await trx.deleteFrom('search_seen_document').where('submission_id', '=', submissionId).execute()
}
