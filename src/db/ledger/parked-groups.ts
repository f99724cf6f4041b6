import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { type MaybeWaits, parkedReason, waitingOn, waitsFor } from './parked-reason.ts'
import type { Requires } from './requirements.ts'
import { passes, type RowFilter } from './row-filter.ts'
import { isAmongPending, rowState } from './row-state.ts'
import { told } from './rows-in-state.ts'
import { shownContent, type Texts } from './shown-texts.ts'

/** The rows of one hotel that wait for the same. */
type ParkedGroup = {
  partner_id: string
  /** What they wait for and where it stands, in words that a person can act on. */
  reason: string
  code: string
  rows: number
  streams: string[]
  /** When the first of them last changed. */
  since: Date
}

type ParkedGroups = { groups: ParkedGroup[]; total: { rows: number; hotels: number; groups: number } }

type FoundGroup = Omit<ParkedGroup, 'reason'> & { waits: MaybeWaits; all_rows: number; all_groups: number }

/** Parked rows by hotel and by what they wait for, the most first, with the numbers of all of them. */
export async function parkedGroups(
  db: Database,
  requires: Requires,
  filter: RowFilter,
  limit: number,
  texts: Texts,
): Promise<ParkedGroups> {
  const { rows } = await sql<FoundGroup & { all_hotels: number }>`
    with parked as materialized (
      select row.partner_id, row.stream, row.changed_at, to_jsonb(waits) as waits
      from ledger row
      left join lateral ${waitsFor(requires)} waits on true
      where ${isAmongPending('parked')}
        and ${rowState(requires)} = 'parked'
        and ${passes(filter, told.parked)}
    )
    select partner_id, ${shownContent(sql`waits`, texts)} as waits,
           'requires_' || (waits ->> 'requirement_state') as code, count(*) as rows,
           array_agg(distinct stream order by stream) as streams, min(changed_at) as since,
           sum(count(*)) over ()::bigint as all_rows, count(*) over () as all_groups,
           (select count(distinct partner_id) from parked) as all_hotels
    from parked
    group by partner_id, parked.waits
    order by count(*) desc, partner_id collate "C", code
    limit ${limit}`.execute(db)
  const [first] = rows
  const total =
    first === undefined
      ? { rows: 0, hotels: 0, groups: 0 }
      : { rows: first.all_rows, hotels: first.all_hotels, groups: first.all_groups }
  const groups = rows.map(({ waits, all_rows: _rows, all_groups: _groups, all_hotels: _hotels, ...group }) => {
    const requirement = waitingOn(waits)
    return { ...group, reason: requirement === null ? '' : parkedReason(requirement, group.partner_id) }
  })
  return { groups, total }
}
