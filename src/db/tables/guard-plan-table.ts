import type { Generated, JSONColumnType, Selectable } from 'kysely'
import type { GuardChange } from './source-row.ts'

/** One of the rows that a plan is about, as an example: what is known here, and what the partner has now. */
export type GuardExample = {
  partner_id: string
  row_key: string
  change: GuardChange
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** What a run was stopped over, stream by stream, until a person approves or a later run judges the stream again. */
export type GuardPlanTable = {
  run_id: number
  stream: string
  /** `share`: too large a part of the rows; `empty`: the partner has no row at all, and there are some here. */
  reason: 'share' | 'empty'
  /** Rows of the stream that were here and not gone when the run judged. */
  known: number
  new: number
  changed: number
  gone: number
  examples: JSONColumnType<GuardExample[]>
  state: 'waiting' | 'approved' | 'superseded'
  planned_at: Generated<Date>
  approved_at: Date | null
  approved_by: string | null
}

export type GuardPlan = Selectable<GuardPlanTable>
