import type { Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Deps } from '../deps.ts'
import { whyNotBelieved } from './judge-fetch.ts'
import { referenceDifferences } from './reference-differences.ts'
import type { ReferenceDocument } from './reference-documents.ts'
import { documentsInForce, type StoredReference, storeReferenceData } from './store-reference-data.ts'
import { withheldReference, withholdReference } from './withheld-reference.ts'

/** What became of a fetch: stored, or why it was not. */
export type KeptReference = StoredReference | { withheld: string }

/**
 * Puts fetched documents in force, unless they are so few that a fault is likelier than a decision and nobody has
 * accepted them: then those before stay in force, rows are judged by them, and the report says so (decision 0018).
 */
export async function keepReferenceData(
  { config, now }: Pick<Deps, 'config' | 'now'>,
  trx: Transaction<Schema>,
  documents: readonly ReferenceDocument[],
  runId: number | null,
): Promise<KeptReference> {
  const at = now()
  const inForce = await documentsInForce(trx)
  const reason = whyNotBelieved(inForce, documents, config.push.minReferenceShare)
  const earlier = reason === null ? null : await withheldReference(trx)
  if (reason !== null && (earlier?.reason !== reason || earlier.accepted_at === null)) {
    await withholdReference(trx, { reason, at, runId })
    return { withheld: reason }
  }
  const acceptedBy = earlier?.accepted_by ?? null
  const changes = referenceDifferences(inForce, documents)
  return await storeReferenceData(trx, documents, changes, { fetchedAt: at, runId, acceptedBy })
}
