import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Requires } from './requirements.ts'
import { isAmongPending, rowState } from './row-state.ts'
import { shownContent } from './shown-texts.ts'

export type RowNotAccepted = {
  stream: string
  partner_id: string
  row_key: string
  /** `invalid`: found wrong here and never sent; else the outcome. */
  state: 'invalid' | 'rejected' | 'unknown'
  code: string | null
  reason: string | null
  /** With its long texts cut. */
  content: Record<string, unknown>
  submission_id: number | null
  correlation_id: string | null
  at: Date | null
}

/**
 * Rows that are rejected, invalid or unknown as they stand, newest verdict first: what was said of an earlier content,
 * or of a row that waits for something else by now, is not why it is not accepted.
 */
export async function rowsNotAccepted(db: Database, requires: Requires, limit: number): Promise<RowNotAccepted[]> {
  const { rows } = await sql<RowNotAccepted>`
    with judged as (
      select row.*, ${rowState(requires)} as state
      from ledger row
      where ${isAmongPending()}
        and (row.invalid_reason is not null or row.refused_hash is not null or row.outcome in ('rejected', 'unknown'))
    )
    select stream, partner_id, row_key, judged.state,
           case when judged.state <> 'invalid' then outcome_code end as code,
           case when judged.state = 'invalid' then invalid_reason else outcome_reason end as reason,
           ${shownContent(sql`content`, 'short')} as content, outcome_submission as submission_id, correlation_id,
           case when judged.state = 'invalid' then changed_at else outcome_at end as at
    from judged
    left join submission on submission.submission_id = outcome_submission and judged.state <> 'invalid'
    where judged.state in ('invalid', 'rejected', 'unknown')
    order by at desc nulls last, row_id
    limit ${limit}`.execute(db)
  return rows
}
