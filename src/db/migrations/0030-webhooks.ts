import { type Kysely, sql } from 'kysely'

/**
 * What the service's webhooks brought: stored before they are answered, so that a death between the two loses nothing
 * and a second delivery finds the first.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhook_event (
      event_id text primary key,
      seq bigint generated always as identity,
      destination_id integer not null default destination_in_use() references destination,
      payload text not null,
      deliveries integer not null default 1,
      first_at timestamptz not null default clock_timestamp(),
      last_at timestamptz not null default clock_timestamp(),
      state text not null default 'received' check (state in ('received', 'waiting', 'done')),
      effect text check (effect in (
        'look', 'in_flight', 'ended', 'run_over', 'not_ours', 'kept', 'test', 'unknown_topic', 'unreadable')),
      processed_at timestamptz,
      topic text,
      ends boolean not null default false,
      correlation_id text,
      submission_id bigint references submission on delete set null,
      application_id text,
      status text,
      profile_id bigint,
      api_key_id text,
      recorded_at timestamptz,
      check ((state = 'done') = (effect is not null))
    )`.execute(db)
  await sql`create index webhook_event_open on webhook_event (state, seq) where state <> 'done'`.execute(db)
  await sql`create index webhook_event_first_at on webhook_event (first_at)`.execute(db)
  await sql`create index webhook_event_submission on webhook_event (submission_id) where submission_id is not null`.execute(
    db,
  )
  await sql`create index webhook_event_application on webhook_event (application_id, recorded_at)
    where application_id is not null`.execute(db)
  await sql`comment on table webhook_event is
    'Events that the service signed, each once however often it came; effect: what it did'`.execute(db)
  await sql`
    create table webhook_refusal (
      day date not null,
      reason text not null,
      refused bigint not null,
      last_at timestamptz not null,
      primary key (day, reason)
    )`.execute(db)
  await sql`comment on table webhook_refusal is 'Deliveries that were not taken, by day and by why'`.execute(db)
  await sql`
    create table webhook_receiver (
      one boolean primary key default true check (one),
      since timestamptz not null,
      heard_at timestamptz not null,
      trusted boolean not null default false
    )`.execute(db)
  await sql`comment on table webhook_receiver is
    'Since when a receiver listens, when one was last known to, and whether polls may come less often'`.execute(db)
  await sql`create index submission_terminal_at on submission (terminal_at) where correlation_id is not null`.execute(
    db,
  )
  await showEvents(db)
  await showApplications(db)
}

async function showEvents(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view webhook_events as
    select event_id, topic, state, effect, deliveries, first_at, last_at, recorded_at, processed_at,
      correlation_id, submission_id, application_id, status, profile_id, api_key_id, payload
    from webhook_event`.execute(db)
  await comment(db, 'webhook_events', 'What the webhooks of the service brought, each event once', {
    event_id: 'Its id at the service',
    topic: 'What it is about, as the service names it; null before it was read, and if it cannot be',
    state: 'received, waiting (for the answer to a request) or done',
    effect:
      'look, in_flight, ended, run_over, not_ours, kept, test, unknown_topic or unreadable; null before it is done',
    deliveries: 'How often it came',
    first_at: 'When it came first',
    last_at: 'When it came last',
    recorded_at: 'When the service says that it happened',
    processed_at: 'When it had its effect',
    correlation_id: 'The task that it tells of',
    submission_id: 'Our request that became the task; null if none did',
    application_id: 'The certification application that it tells of',
    status: 'The status that it names; nothing relies on it',
    profile_id: 'The profile that it belongs to',
    api_key_id: 'The API key that submitted the request',
    payload: 'The body as it came',
  })
}

async function showApplications(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view application_events as
    select event_id, application_id, case when status is null then 'answers' else 'status' end as change, status,
      profile_id, recorded_at, first_at
    from webhook_event
    where application_id is not null and effect = 'kept' and destination_id = (select destination_id from destination where schema_name is null)`.execute(
    db,
  )
  await comment(db, 'application_events', 'What webhooks told of certification applications', {
    event_id: 'Its id at the service',
    application_id: 'The application',
    change: 'status, or answers: they differ now and should be read again',
    status: 'The status reached; null of answers',
    profile_id: 'The profile of the certifier who owns it',
    recorded_at: 'When the service says that it happened',
    first_at: 'When it came first',
  })
  await sql`
    create view applications as
    select application_id, max(profile_id) as profile_id,
      (array_agg(status order by recorded_at desc nulls last, first_at desc) filter (where change = 'status'))[1] as status,
      max(recorded_at) filter (where change = 'status') as status_at,
      max(recorded_at) filter (where change = 'answers') as answers_changed_at,
      max(recorded_at) as changed_at, count(*) as events
    from application_events group by application_id`.execute(db)
  await comment(
    db,
    'applications',
    'How certification applications stand by what webhooks told; events come in any order',
    {
      application_id: 'The application',
      profile_id: 'The profile of the certifier who owns it',
      status: 'The status that it reached last, by the time that the service recorded; null if none was told',
      status_at: 'When it reached that status',
      answers_changed_at: 'When its answers changed last; null if that was never told',
      changed_at: 'The later of the two',
      events: 'How many events told of it',
    },
  )
}

async function comment(
  db: Kysely<unknown>,
  view: string,
  text: string,
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  await sql`comment on view ${sql.id(view)} is ${sql.lit(text)}`.execute(db)
  for (const [column, words] of Object.entries(columns)) {
    await sql`comment on column ${sql.id(view, column)} is ${sql.lit(words)}`.execute(db)
  }
}
