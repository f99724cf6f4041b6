import { sql } from 'kysely'
import { askBoth, type Database, type Hurry } from '../database.ts'
import { isConfigured, type Requires } from './requirements.ts'
import { rowState } from './row-state.ts'
import { isParkedAsSuspended, isSuspended } from './suspended-hotels.ts'

type StatusCounts = {
  stream: string
  rows: number
  accepted: number
  pending: number
  invalid: number
  parked: number
  /** Of the parked rows: those whose hotel people have suspended. */
  suspended: number
  rejected: number
  /** Nobody can say what became of them; the next run sends them again. */
  unknown: number
  in_flight: number
  /** Held by the guard until a person approves, also rows that are accepted and would get their tombstone. */
  held: number
  /** Neither accepted nor pending: no run sends them, because the stream is not in the configuration. */
  unconfigured: number
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
    return { ...other, rows: kept, accepted: kept - other.pending - other.unconfigured, gone }
  })
}

const nothingElse: OtherCounts = {
  stream: '',
  pending: 0,
  invalid: 0,
  parked: 0,
  suspended: 0,
  rejected: 0,
  unknown: 0,
  in_flight: 0,
  held: 0,
  unconfigured: 0,
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
           count(*) filter (where suspended) as suspended,
           count(*) filter (where state = 'rejected') as rejected,
           count(*) filter (where state = 'unknown') as unknown,
           count(*) filter (where held_by is not null and state <> 'parked') as in_flight,
           count(*) filter (
             where state = 'held' or (state = 'accepted' and guard_change = 'gone' and ${isConfigured(requires)})
           ) as held,
           count(*) filter (where state = 'unconfigured') as unconfigured,
           min(changed_at) filter (where differs and not kept_back and ${isConfigured(requires)}) as oldest_pending
    from ledger row
    -- Not merged into each count, which would find out the state once for each.
    cross join lateral (select ${rowState(requires)} as state offset 0) stated
    cross join lateral (
      select row.pending and gone_at is null and state <> 'unconfigured' as differs,
             ${isParkedAsSuspended(sql`state`)} as suspended, ${isSuspended()} as kept_back offset 0) differing
    where row.row_id = any(
      array(select row_id from acceptance where accepted_hash is distinct from wanted_hash)
      || array(select row_id from submission_row where submission_id in (select submission_id from held_property))
      || array(select row_id from source_row where guard_run is not null))
    group by stream`.execute(db)
  return rows
}

/**
 * When the oldest change was seen that the service has not accepted, whatever it waits for; null: all are accepted.
 * What no run sends, because its stream is not in the configuration or its hotel is suspended, does not count: it would
 * be the oldest for ever.
 * Looks only at rows that are pending, by their index: as an array, which the planner takes for short. It takes nearly
 * every row for pending, and a join would read all of a large ledger.
 */
export async function oldestUnaccepted(db: Database, requires: Requires): Promise<Date | null> {
  const { rows } = await sql<{ oldest: Date | null }>`
    select min(changed_at) as oldest from source_row row
    where gone_at is null and ${isConfigured(requires)} and not ${isSuspended()}
      and row_id = any(array(select row_id from acceptance where accepted_hash is distinct from wanted_hash))`.execute(
    db,
  )
  return rows[0]?.oldest ?? null
}
