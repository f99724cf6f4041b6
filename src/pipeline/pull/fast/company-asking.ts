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
  const contents = elements.map((element) =>
    element.kind === 'companyBytes' ? { hash: hashOf(element.bytes), bytes: element.bytes.byteLength } : null,
  )
  const known = findByContent(
    aside,
    contents.flatMap((content) => content?.hash ?? []),
  )
  // The reader of the batch is told.
  known.catch(() => {})
  return { elements, contents, known }
}
