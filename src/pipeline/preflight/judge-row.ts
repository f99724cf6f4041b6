import type { Deps } from '../deps.ts'
import type { LandingRow } from '../streams/row-key.ts'
import { loadReferenceIndex } from '../streams/rules/reference-index.ts'
import { checkRow, rowWarnings } from './check-row.ts'
import { judgingOf } from './judging.ts'

/**
 * What is wrong with a row whose content is whole, or null. Undefined where that is for preflight to say, because there
 * is more to note of it than a verdict.
 */
export type JudgeRow = (row: LandingRow) => string | null | undefined

export type Judge = {
  /** What rows are judged by: a number of `judging_basis`. */
  basis: number
  of: (stream: string) => JudgeRow
}

/**
 * Judges rows on their way into the ledger, as preflight would afterwards, by the same reference data: so a row that is
 * new is written once, and preflight has only to compare it with others.
 */
export async function loadJudge(deps: Deps): Promise<Judge> {
  const { contract, db } = deps
  const { basis, rules } = await judgingOf(deps)
  const reference = await loadReferenceIndex(db, rules)
  return {
    basis,
    of:
      (stream) =>
      ({ partnerId, content }) =>
        rowWarnings(reference, stream, content).length > 0
          ? undefined
          : checkRow(contract, reference, stream, partnerId, content),
  }
}
