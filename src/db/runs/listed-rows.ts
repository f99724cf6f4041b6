import { sql } from 'kysely'
import { askBoth, type Hurry } from '../ask-both.ts'
import type { Database } from '../database.ts'
import type { Requires } from '../ledger/requirement.ts'
import { rowState } from '../ledger/row-state.ts'
import type { Run } from '../tables/run-tables.ts'

/**
 * The newest runs, newest first.
 * @param before only runs with a smaller number.
 */
export async function newestRuns(db: Database, limit: number, before?: number): Promise<Run[]> {
  const newest = db.selectFrom('run').selectAll().orderBy('run_id', 'desc').limit(limit)
  return await (before === undefined ? newest : newest.where('run_id', '<', before)).execute()
}

export async function runExists(db: Database, runId: number): Promise<boolean> {
  return (await db.selectFrom('run').select('run_id').where('run_id', '=', runId).executeTakeFirst()) !== undefined
}

type StatusCounts = {
  stream: string
  rows: number
  accepted: number
  pending: number
  invalid: number
  parked: number
  rejected: number
  /** Nobody can say what became of them; the next run sends them again. */
  unknown: number
  in_flight: number
  /** Held by the guard until a person approves, also rows that are accepted and would get their tombstone. */
  held: number
  /** No longer at the partner; not counted among the rows. */
  gone: number
  oldest_pending: Date | null
}

/**
 * The ledger at a glance: how many rows of each stream are accepted, and where the others stand, as the verbs that list
 * them say.
 */
export async function statusCounts(db: Database, requires: Requires, hurry?: Hurry): Promise<StatusCounts[]> {
  // Most rows of a large ledger are accepted, and only counted, by an index; the state is asked of the others alone.
  const [counted, others] = await askBoth(db, countRows, async (same) => await countOthers(same, requires), hurry)
  const byStream = new Map(others.map((other) => [other.stream, other]))
  return counted.map(({ stream, rows, gone }) => {
    const other = byStream.get(stream) ?? { ...nothingElse, stream }
    const kept = rows - gone
    return { ...other, rows: kept, accepted: kept - other.pending, gone }
  })
}

const nothingElse: OtherCounts = {
  stream: '',
  pending: 0,
  invalid: 0,
  parked: 0,
  rejected: 0,
  unknown: 0,
  in_flight: 0,
  held: 0,
  oldest_pending: null,
}

async function countRows(db: Database): Promise<Pick<StatusCounts, 'stream' | 'rows' | 'gone'>[]> {
  const { rows } = await sql<Pick<StatusCounts, 'stream' | 'rows' | 'gone'>>`
    select stream, rows, coalesce(gone, 0) as gone
    from (select stream, count(*) as rows from source_row group by stream) counted
    left join (
      select stream, count(*) as gone from source_row where gone_at is not null group by stream
    ) left_out using (stream)
    order by stream`.execute(db)
  return rows
}

type OtherCounts = Omit<StatusCounts, 'rows' | 'accepted' | 'gone'>

async function countOthers(db: Database, requires: Requires): Promise<OtherCounts[]> {
  const { rows } = await sql<OtherCounts>`
    select stream,
           count(*) filter (where differs) as pending,
           count(*) filter (where state = 'invalid') as invalid,
           count(*) filter (where state = 'parked') as parked,
           count(*) filter (where state = 'rejected') as rejected,
           count(*) filter (where state = 'unknown') as unknown,
           count(*) filter (where held_by is not null and state <> 'parked') as in_flight,
           count(*) filter (where state = 'held' or (state = 'accepted' and guard_change = 'gone')) as held,
           min(changed_at) filter (where differs) as oldest_pending
    from ledger row
    cross join lateral (select row.pending and gone_at is null as differs) differing
    -- Not merged into each count, which would find out the state once for each.
    cross join lateral (select ${rowState(requires)} as state offset 0) stated
    where row.row_id = any(
      array(select row_id from acceptance where accepted_hash is distinct from wanted_hash)
      || array(select row_id from submission_row where submission_id in (select submission_id from held_property))
      || array(select row_id from source_row where guard_run is not null))
    group by stream`.execute(db)
  return rows
}
