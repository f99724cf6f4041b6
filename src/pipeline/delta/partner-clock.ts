import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { PartnerSnapshot } from '../../partner/dialect.ts'
import { momentOf } from './where-to-read.ts'

/**
 * What clocks may differ by from one night to the next although nobody set them. To take more for noise hides a clock
 * that was put right where there is no overlap; to take less reads whole streams for nothing. Milliseconds.
 */
const clockNoiseMs = 60_000

const dayMs = 86_400_000

/**
 * How exactly two clocks are compared on a busy machine. A smaller bound reads rows again that were read; a larger one
 * misses what a clock hides that was put back by so little, where there is no overlap. Milliseconds.
 */
const comparedWithinMs = 1_000

/**
 * How far the clock of the partner's server is ahead of our own database's. The two need not agree: only how this
 * changes from one reading to the next says whether one of them was set. Milliseconds.
 */
export async function partnerAheadMs(db: Database, { clock }: Pick<PartnerSnapshot, 'clock'>): Promise<number> {
  const at = performance.now()
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from statement_timestamp()) * 1000)::float8 as ms`.execute(db)
  const [own] = rows
  if (own === undefined) throw new Error('the database did not say what time it is')
  return clock.ms - clock.at - (own.ms - at)
}

/**
 * How much the partner's clock has lost against ours since the watermark was taken: what is written since may carry
 * times that lie so much before it. Milliseconds; 0 where nobody knows, or it gained. Pure.
 */
export function lostMs(aheadBefore: number | null, aheadNow: number): number {
  const lost = aheadBefore === null ? 0 : aheadBefore - aheadNow
  return lost > comparedWithinMs ? lost : 0
}

/**
 * Whether the clock has lost so much that it was put back. It may have been set more than once since, so that all rows
 * are read, and people are told; of less, so much more is read again before the watermark. Pure.
 */
export function readsWhole(lost: number, overlapMs: number): boolean {
  return lost > Math.max(overlapMs, clockNoiseMs)
}

/**
 * Whether the newest time that may move the watermark lies before it: no watermark is ahead of the clock that set it,
 * so that clock was put back since, nobody knows how far. Cursors that are no times say nothing. Pure.
 *
 * @param usualMs how much it lies before it where the clocks are right.
 */
export function clockPutBack(watermark: string, newest: string | null, usualMs: number): boolean {
  // SQL Server puts a blank before a zone.
  const texts = [watermark, newest ?? ''].map((text) => text.replace(/ (?=[+-]\d{2}:\d{2}$)/, ''))
  const [before, now] = texts.map((text) => momentOf(text, new Date(0)))
  // A date is the whole of its day.
  const wholeMs = /^\d{4}-\d{2}-\d{2}$/.test(watermark) ? dayMs : 0
  return before != null && now != null && now.getTime() < before.getTime() - usualMs - clockNoiseMs - wholeMs
}
