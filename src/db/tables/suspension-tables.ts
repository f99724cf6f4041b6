import type { Generated } from 'kysely'

/** A hotel of which nothing is sent; with `resumed_at` only until the next run. */
export type SuspendedHotelTable = {
  partner_id: string
  reason: string
  suspended_by: string
  suspended_at: Date
  resumed_by: string | null
  resumed_at: Date | null
}

/** While it has its one row, only the hotels in `pilot_hotel` are sent; with `ended_at` only until the next run. */
export type PilotTable = {
  one: Generated<boolean>
  reason: string
  started_by: string
  started_at: Date
  ended_by: string | null
  ended_at: Date | null
}

/** A hotel that is sent during the pilot; `from_next_run`: not yet by a run that is under way. */
export type PilotHotelTable = {
  partner_id: string
  joined_by: string
  joined_at: Date
  from_next_run: boolean
}
