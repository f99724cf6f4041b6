import type { Database } from '../../../db/database.ts'
import { findByContent } from '../merge/known-companies.ts'
import type { AskedBatch, CompanyElement } from './company-batch.ts'
import type { ContentHash } from './content-hash.ts'

/**
 * The first stage of a fast load: asks which companies are known by the hash of their bytes. The answer is under way
 * when this returns.
 */
export function askWhichAreUnchanged(
  aside: Database,
  hashOf: ContentHash,
  elements: readonly CompanyElement[],
): AskedBatch {
  const hashes = elements.map((element) => (element.kind === 'companyBytes' ? hashOf(element.bytes) : null))
  const known = findByContent(
    aside,
    hashes.filter((hash) => hash !== null),
  )
  // The reader of the batch is told.
  known.catch(() => {})
  return { elements, hashes, known }
}
