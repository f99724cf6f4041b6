/** What a page shows of one thing that rows write: its values, and when the service says that it was changed. */
export type Stored = { values: readonly string[]; changedAt: Date | null }

/** Everything that a page shows of one company, by the name of the thing. */
export type StoredThings = ReadonlyMap<string, Stored>

/** What a row should have left at the service: the name of the thing, and its value as `Stored` writes it. */
export type Expected = {
  thing: string
  value: string
  /** What a person reads of it. */
  shown: string
}

/** A settled or unsettled row, as it is compared with a page. */
export type SentRow = {
  row_id: number
  stream: string
  partner_id: string
  content: Record<string, unknown>
  /** The service has accepted what the row says, before the search was planned, and nothing has touched it since. */
  settled: boolean
  accepted_at: string | null
}

export type Finding = {
  row_id: number
  kind: 'absent' | 'different'
  company_id: string
  sent: string
  stored: string | null
  cause: 'company_not_returned' | 'value_not_returned' | null
  changed_there_at: string | null
}

export type Counts = {
  rows: number
  equal: number
  absent: number
  different: number
  unjudged: number
  unsettled: number
}
