import { type Kysely, sql } from 'kysely'

/**
 * Hotels of which nothing is sent until a person says so, and a pilot: the hotels that are sent while all others are
 * not. Ids, not rows of the ledger: a pilot is set before anything was read.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table suspended_hotel (
      partner_id text primary key,
      reason text not null,
      suspended_by text not null,
      suspended_at timestamptz not null,
      resumed_by text,
      resumed_at timestamptz
    )`.execute(db)
  await sql`comment on table suspended_hotel is 'Hotels of which nothing is sent until a person resumes them'`.execute(
    db,
  )
  await sql`comment on column suspended_hotel.resumed_at is
    'When a person resumed it: the next run sends its rows. Null: it stays suspended'`.execute(db)
  await sql`
    create table pilot (
      one boolean primary key default true check (one),
      reason text not null,
      started_by text not null,
      started_at timestamptz not null,
      ended_by text,
      ended_at timestamptz
    )`.execute(db)
  await sql`comment on table pilot is
    'While it has a row, nothing is sent of any hotel but those in pilot_hotel'`.execute(db)
  await sql`comment on column pilot.ended_at is
    'When a person ended it: the next run sends the others. Null: it goes on'`.execute(db)
  await sql`
    create table pilot_hotel (
      partner_id text primary key,
      joined_by text not null,
      joined_at timestamptz not null,
      from_next_run boolean not null
    )`.execute(db)
  await sql`comment on table pilot_hotel is 'Hotels that are sent during the pilot'`.execute(db)
  await sql`comment on column pilot_hotel.from_next_run is
    'It joined while it was suspended, so the next run is the first that sends its rows'`.execute(db)
}
