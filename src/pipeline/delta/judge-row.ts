import type { StreamName } from '../../config/schema.ts'
import type { Deps } from '../deps.ts'
import { checkRow } from '../push/check-row.ts'
import { loadReferenceIndex } from '../push/reference-index.ts'
import { type LandingRow, streamShapes } from './stream-rows.ts'

/** What is wrong with a row, or null; undefined where its content is not whole before it is folded into the ledger's. */
export type Judge = (stream: StreamName, row: LandingRow) => string | null | undefined

/**
 * Judges rows on their way into the ledger, as preflight would afterwards, by the same reference data: so a row that is
 * new is written once, and preflight passes over it.
 */
export async function loadJudge({ contract, db }: Pick<Deps, 'contract' | 'db'>): Promise<Judge> {
  const reference = await loadReferenceIndex(db)
  return (stream, { partnerId, content }) =>
    streamShapes[stream].foldedKey === undefined ? checkRow(contract, reference, stream, partnerId, content) : undefined
}
