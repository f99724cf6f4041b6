import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Requires } from '../../db/ledger/requirements.ts'
import { isAmongPending, rowState } from '../../db/ledger/row-state.ts'
import { isSuspended } from '../../db/ledger/suspended-hotels.ts'
import { markSchema } from '../copy/rehearsal-database.ts'

const parkedBefore = sql.id(markSchema, 'parked_before')

/** The numbers of the rows that are parked, but for those of hotels that people have suspended. */
const parked = (requires: Requires) => sql`
  select row.row_id from ledger row
  where ${isAmongPending('parked')} and ${rowState(requires)} = 'parked' and not ${isSuspended()}`

/** Notes in the copy which rows are parked before the night: of a large ledger more than memory should hold. */
export async function noteParked(copy: Database, requires: Requires): Promise<void> {
  // In a database that was named the schema is there, as the mark: it goes with all else that a rehearsal made.
  await sql`create schema if not exists ${sql.id(markSchema)}`.execute(copy)
  await sql`drop table if exists ${parkedBefore}`.execute(copy)
  await sql`create table ${parkedBefore} (row_id bigint primary key)`.execute(copy)
  await sql`insert into ${parkedBefore} ${parked(requires)}`.execute(copy)
}

/** How many rows are parked that were not when `noteParked` was called. */
export async function countNewlyParked(copy: Database, requires: Requires): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from (${parked(requires)}) parked
    where not exists (select from ${parkedBefore} before where before.row_id = parked.row_id)`.execute(copy)
  return rows[0]?.rows ?? 0
}
