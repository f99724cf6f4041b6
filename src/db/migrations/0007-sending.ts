import { type Kysely, sql } from 'kysely'

/** Payloads in pieces, and what all daemons that use one API key share. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table submission_payload (
      submission_id bigint not null references submission,
      ordinal integer not null,
      piece bytea not null,
      primary key (submission_id, ordinal)
    )`.execute(db)
  // Pieces are compressed already: another attempt would only cost time.
  await sql`alter table submission_payload alter column piece set storage external`.execute(db)
  await sql`
    insert into submission_payload (submission_id, ordinal, piece)
    select submission_id, ordinal, substring(payload from 1 + 262144 * (ordinal - 1) for 262144)
    from submission, generate_series(1, (octet_length(payload) + 262143) / 262144) as ordinal
    where payload is not null`.execute(db)
  await sql`alter table submission drop column payload`.execute(db)

  await sql`
    create table service_key (
      fingerprint text primary key,
      next_call_at timestamptz not null default clock_timestamp(),
      paused_until timestamptz,
      used_at timestamptz not null default clock_timestamp(),
      open_since timestamptz,
      refusal_code text,
      refusal_message text,
      probe_at timestamptz,
      check ((open_since is null) = (probe_at is null))
    ) with (fillfactor = 50)`.execute(db)
  await sql`comment on table service_key is 'What all processes that use one API key share; never the key'`.execute(db)
}
