/** Webhooks, and what was or is to be delivered to them. */
export const webhookSchema = `
-- topics: as on the wire. previous_secret: signs too until previous_secret_until, after a rotation.
create table if not exists sandbox.webhook (
  id uuid primary key,
  profile_id integer not null,
  url text not null,
  topics text[] not null,
  header_name text,
  header_value text,
  enabled boolean not null,
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  created_at timestamptz not null
);
create index if not exists webhook_of_profile on sandbox.webhook (profile_id, created_at);

-- One event for one webhook. about: the task or the application. body: the bytes that every attempt sends.
-- status: queued, delivered, failed, stopped. attempted: how many attempts of the ladder were made.
-- urgent: does not wait for the next dispatch. sending: an attempt is under way, or was when the process ended.
-- held: a reordered in-flight event that waits for the end of its task.
create table if not exists sandbox.webhook_delivery (
  id uuid primary key,
  sequence bigint generated always as identity unique,
  webhook_id uuid not null references sandbox.webhook on delete cascade,
  event_id uuid not null,
  type text not null,
  about uuid,
  body bytea not null,
  status text not null check (status in ('queued', 'delivered', 'failed', 'stopped')),
  is_test boolean not null default false,
  urgent boolean not null default false,
  sending boolean not null default false,
  held boolean not null default false,
  attempted integer not null default 0,
  created_at timestamptz not null,
  next_attempt_at timestamptz,
  chaos text[],
  check ((status = 'queued') = (next_attempt_at is not null))
);
create index if not exists webhook_delivery_due on sandbox.webhook_delivery (next_attempt_at) where status = 'queued';
create index if not exists webhook_delivery_sending on sandbox.webhook_delivery (webhook_id) where sending;
create index if not exists webhook_delivery_of_webhook on sandbox.webhook_delivery (webhook_id, sequence desc);
create index if not exists webhook_delivery_about on sandbox.webhook_delivery (about);
create index if not exists webhook_delivery_age on sandbox.webhook_delivery (created_at);

-- at: by the sandbox's clock. webhook_timestamp: as sent, by the wall clock. error: null when the receiver answered.
create table if not exists sandbox.webhook_attempt (
  id bigint generated always as identity primary key,
  delivery_id uuid not null references sandbox.webhook_delivery on delete cascade,
  at timestamptz not null,
  webhook_timestamp bigint not null,
  http_status integer,
  error text,
  latency_ms integer not null,
  response_excerpt text
);
create index if not exists webhook_attempt_of_delivery on sandbox.webhook_attempt (delivery_id);
`
