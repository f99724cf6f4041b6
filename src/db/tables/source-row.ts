import type { Generated, JSONColumnType, Selectable } from 'kysely'

export type GuardChange = 'new' | 'changed' | 'gone'

/**
 * What the partner wants at the service, whichever that is: one row per thing. What was taken of it is in `acceptance`.
 */
export type SourceRowTable = {
  row_id: Generated<number>
  stream: string
  partner_id: string
  /** What the row writes at the service, as text: unique within its stream. */
  row_key: string
  content: JSONColumnType<Record<string, unknown>>
  /** The first 16 bytes of the SHA-256 of the content. */
  desired_hash: Buffer
  /** Set while the partner yields several rows with this key, and nothing says which is newer: then it is invalid. */
  contradiction: string | null
  /** The tombstone: since when the partner no longer has the row. Nothing of it is sent while it is set. */
  gone_at: Date | null
  /** The run whose plan holds the row until a person approves, and what would happen to it then. */
  guard_run: number | null
  guard_change: GuardChange | null
  first_seen_at: Generated<Date>
  changed_at: Generated<Date>
}

export type SourceRow = Selectable<SourceRowTable>
