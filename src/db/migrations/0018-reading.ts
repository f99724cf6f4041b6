import { type Kysely, sql } from 'kysely'

/**
 * How each stream was last read: whole or from a cursor, by which cursor, from which server, and what to do next time.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table stream_watermark
      add column cursor text,
      add column cursor_type text,
      add column witness text`.execute(db)
  await sql`
    create table stream_reading (
      stream text primary key,
      capture text check (capture in ('cursor', 'snapshot')),
      server text,
      whole_at timestamptz,
      whole_wanted text
    )`.execute(db)
  // Streams that are read as snapshots are whole each time; of the others nobody has ever compared everything.
  await sql`
    insert into stream_reading (stream, capture, whole_at)
    select stream, 'snapshot', read_at from stream_snapshot
    union all
    select stream, 'cursor', null from stream_watermark
    on conflict do nothing`.execute(db)
  await sql`
    alter table run_stream
      add column whole text,
      add column whole_detail text,
      add column lacks text,
      add column hotels_asked bigint not null default 0`.execute(db)
  await sql`alter table row_finding add column asked_at timestamptz`.execute(db)
  await sql`create index source_row_contradicting on source_row (stream) where contradiction is not null`.execute(db)
  await describeActions(db)
}

/** Which verbs there are is no constraint any more: each version adds some. */
async function describeActions(db: Kysely<unknown>): Promise<void> {
  await sql`comment on view actions is
    'What people did with the verbs that change what happens next, or who may read'`.execute(db)
  await sql`comment on column actions.verb is
    'The verb of the command line, such as retry, abandon, adopt, cancel, reread, grant or revoke'`.execute(db)
  await sql`comment on column actions.rows is
    'How many rows were marked, or were in the submission; of a reread, how many are known of the stream; of a grant, how many views'`.execute(
    db,
  )
  await sql`comment on column actions.asked is
    'What the command line asked for: the filters of a retry, the stream of a reread, the role of a grant'`.execute(db)
}
