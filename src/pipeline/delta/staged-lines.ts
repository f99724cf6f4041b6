import { stagedLine } from '../../db/landing/stage-rows.ts'
import type { DeltaRows } from '../../db/partner/dialect.ts'
import type { JudgeRow } from './judge-row.ts'
import { landingOf } from './landing-row.ts'
import type { LandingRow, StreamShape } from './stream-rows.ts'

/** What was seen of a delta on its way. */
export type Seen = {
  rows: number
  /** Rows that were merged into the one before them on their way: parts of the same ledger row. */
  folded: number
  nullCursors: number
  /** The last cursor, as far as it may move the watermark, and the key of the row that carries it. */
  newestCursor: string | null
  newestKey: string | null
  /** The row to look out for, and the last cursor that rows with its key had: undefined while none was met. */
  witness: string | null
  witnessCursor: string | null | undefined
}

/** Nothing seen yet. */
export function nothingSeen(witness: string | null = null): Seen {
  return { rows: 0, folded: 0, nullCursors: 0, newestCursor: null, newestKey: null, witness, witnessCursor: undefined }
}

export type Staging = {
  shape: StreamShape
  judge: JudgeRow
  seen: Seen
  /** Rows of other hotels are left out. */
  only?: ReadonlySet<string>
}

/**
 * Rows of a delta as lines for the stage. Notes the newest cursor on the way, which the order of the delta makes the
 * last one. Rows with equal cursors share an ordinal. Parts of one ledger row that come one after the other, as those do
 * which were stored together, are merged here: each line less is one less to store, sort and merge.
 */
export async function* stagedLines(batches: DeltaRows, { shape, judge, seen, only }: Staging): AsyncGenerator<string> {
  const { columns } = shape
  let ordinal = 0
  let before: string | null = null
  let whole: WholeRow | null = null
  for await (const batch of batches) {
    let lines = ''
    for (const values of batch) {
      const row = landingOf(shape, values)
      if (only?.has(row.partnerId) === false) continue
      seen.rows += 1
      const cursor = values[columns.length] ?? null
      if (cursor === null) seen.nullCursors += 1
      else {
        seen.newestCursor = cursor
        seen.newestKey = row.rowKey
      }
      if (row.rowKey === seen.witness) seen.witnessCursor = cursor
      const at = values[columns.length + 1] ?? cursor
      if (at !== before) ordinal += 1
      before = at
      const withoutCursor = cursor === null
      if (shape.foldedKey === undefined) {
        lines += stagedLine({ ...row, ordinal, reason: judge(row), withoutCursor })
      } else if (whole !== null && whole.rowKey === row.rowKey) {
        Object.assign(whole.content[shape.foldedKey] as object, row.content[shape.foldedKey])
        whole.withoutCursor ||= withoutCursor
        seen.folded += 1
      } else {
        if (whole !== null) lines += stagedLine(whole)
        // A number of its own: of two such rows the later one wins where both say something of one part.
        ordinal += 1
        whole = { ...row, ordinal, withoutCursor }
      }
    }
    if (lines !== '') yield lines
  }
  if (whole !== null) yield stagedLine(whole)
}

/** A row that the next one may be a part of. */
type WholeRow = LandingRow & { ordinal: number; withoutCursor: boolean }
