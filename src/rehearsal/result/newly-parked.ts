import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Requires } from '../../db/ledger/requirements.ts'
import { isAmongPending, rowState } from '../../db/ledger/row-state.ts'
import { isSuspended } from '../../db/ledger/suspended-hotels.ts'

/** The numbers of the rows that are parked, but for those of hotels that people have suspended. */
const parked = (requires: Requires) => sql`
  select row.row_id from ledger row
  where ${isAmongPending('parked')} and ${rowState(requires)} = 'parked' and not ${isSuspended()}`

/** Notes in the copy which rows are parked before the night: of a large ledger more than memory should hold. */
export async function noteParked(copy: Database, requires: Requires): Promise<void> {
  await sql`drop schema if exists rehearsal cascade`.execute(copy)
  await sql`create schema rehearsal`.execute(copy)
  await sql`create table rehearsal.parked_before (row_id bigint primary key)`.execute(copy)
  await sql`insert into rehearsal.parked_before ${parked(requires)}`.execute(copy)
}

/** How many rows are parked that were not when `noteParked` was called. */
export async function countNewlyParked(copy: Database, requires: Requires): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from (${parked(requires)}) parked
    where not exists (select from rehearsal.parked_before before where before.row_id = parked.row_id)`.execute(copy)
  return rows[0]?.rows ?? 0
}
