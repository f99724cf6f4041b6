/** The companies and what is known of them, tasks, result files, and the request log. */
export const serviceSchema = `
-- One row: what the tables below were seeded with. file_secret signs the addresses of result files.
-- calculators_until: the companies up to this number have the calculators of calculators_year; null: none were asked
-- for.
-- clock_at: the sandbox's time when it last stopped. file_digest: of the world file that it was made from; null: made
-- up.
create table if not exists sandbox.world (
  only_row boolean primary key default true check (only_row),
  seed bigint not null,
  hotels integer not null,
  file_secret bytea not null,
  calculators_year integer,
  calculators_until integer not null default 0,
  clock_at timestamptz
);

create table if not exists sandbox.company (
  id uuid primary key,
  number integer not null unique,
  name text not null,
  name_key text not null,
  street text not null,
  latitude double precision not null,
  longitude double precision not null,
  country_code text not null,
  hotel_code text,
  booking_id text
);
create index if not exists company_name_key on sandbox.company (name_key);
create index if not exists company_hotel_code on sandbox.company (hotel_code);
create index if not exists company_booking_id on sandbox.company (booking_id);

create table if not exists sandbox.group_company (
  group_id uuid not null,
  company_id uuid not null references sandbox.company,
  primary key (group_id, company_id)
);

-- Values of custom identifiers: each names one company, a company may have several.
create table if not exists sandbox.identifier (
  property_id uuid not null,
  value text not null,
  company_id uuid not null references sandbox.company,
  primary key (property_id, value)
);
create index if not exists identifier_company on sandbox.identifier (company_id, property_id);

-- Values of the other custom properties.
create table if not exists sandbox.property_value (
  property_id uuid not null,
  company_id uuid not null references sandbox.company,
  ordinal integer not null,
  value text not null,
  primary key (company_id, property_id, ordinal)
);
create index if not exists property_value_value on sandbox.property_value using hash (value);

create table if not exists sandbox.company_setting (
  company_id uuid primary key references sandbox.company,
  automatic_yearly_calculation boolean not null default false,
  automatic_publishing boolean not null default false
);

-- inputs: as sent. summed: of a yearly calculator, the sums of the year's monthly inputs. What was sent wins.
create table if not exists sandbox.calculator (
  id uuid primary key,
  company_id uuid not null,
  type_id uuid not null,
  year integer not null,
  month integer check (month between 1 and 12),
  inputs jsonb not null,
  summed jsonb not null,
  outputs jsonb not null
);
create index if not exists calculator_company on sandbox.calculator (company_id, year);

create table if not exists sandbox.framework_assignment (
  company_id uuid not null,
  framework_id uuid not null,
  period_type text not null,
  year integer not null,
  month integer not null,
  primary key (company_id, framework_id, period_type, year, month)
);

create table if not exists sandbox.answer (
  company_id uuid not null,
  data_point_id uuid not null,
  period_type text not null,
  year integer not null,
  month integer not null,
  value jsonb not null,
  unit_id uuid,
  primary key (company_id, data_point_id, period_type, year, month)
);

create table if not exists sandbox.omission (
  company_id uuid not null,
  question_id uuid not null,
  period_type text not null,
  year integer not null,
  month integer not null,
  primary key (company_id, question_id, period_type, year, month)
);

create table if not exists sandbox.standard_holder (
  company_id uuid not null references sandbox.company,
  standard_id uuid not null,
  level text,
  start_date date,
  expiry_date date,
  primary key (company_id, standard_id)
);

-- When the service last changed what it shows, in its own time. Added to worlds of before.
alter table sandbox.answer add column if not exists changed_at timestamptz not null default clock_timestamp();
alter table sandbox.omission add column if not exists changed_at timestamptz not null default clock_timestamp();
alter table sandbox.standard_holder add column if not exists changed_at timestamptz not null default clock_timestamp();
alter table sandbox.identifier add column if not exists changed_at timestamptz not null default clock_timestamp();
alter table sandbox.property_value add column if not exists changed_at timestamptz not null default clock_timestamp();

-- What is stored by the thousand was looked up in company for each row, though every writer has found the company or
-- made it. Taken from worlds of before.
alter table sandbox.calculator drop constraint if exists calculator_company_id_fkey;
alter table sandbox.framework_assignment drop constraint if exists framework_assignment_company_id_fkey;
alter table sandbox.answer drop constraint if exists answer_company_id_fkey;
alter table sandbox.omission drop constraint if exists omission_company_id_fkey;

-- What a world file need not know of a company, and the file itself. Added to worlds of before.
alter table sandbox.company alter column street drop not null;
alter table sandbox.company alter column latitude drop not null;
alter table sandbox.company alter column longitude drop not null;
alter table sandbox.company alter column country_code drop not null;
alter table sandbox.world add column if not exists file_digest text;

-- status: the contract's key of the status, not its name on the wire. json, not jsonb: row errors repeat what was sent.
create table if not exists sandbox.task (
  id uuid primary key,
  sequence bigint generated always as identity unique,
  profile_id integer not null,
  api_key_id uuid not null,
  request text not null,
  method text not null,
  path text not null,
  status text not null,
  items integer not null,
  identifiers text[] not null,
  created_at timestamptz not null,
  scheduled_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  attempts integer not null default 0,
  general_errors json,
  row_errors json
);
create index if not exists task_waiting on sandbox.task (sequence) where status in ('pending', 'scheduled');
create index if not exists task_ended on sandbox.task (finished_at) where finished_at is not null;
drop index if exists sandbox.task_of_profile;
create index if not exists task_newest on sandbox.task (profile_id, created_at desc, sequence desc);

-- The request, kept until it is processed.
create table if not exists sandbox.task_body (
  task_id uuid primary key references sandbox.task,
  body bytea not null
);
alter table sandbox.task_body alter column body set storage external;

-- bytes, crc32: of the whole file as it is read, once it is complete.
create table if not exists sandbox.file (
  token text primary key,
  task_id uuid not null references sandbox.task,
  ordinal integer not null,
  bytes bigint,
  crc32 bigint,
  unique (task_id, ordinal)
);

-- deflated: raw deflate without a final block, so that pieces make a gzip file when they are put one after the other.
create table if not exists sandbox.file_chunk (
  token text not null references sandbox.file on delete cascade,
  ordinal integer not null,
  deflated bytea not null,
  primary key (token, ordinal)
);
alter table sandbox.file_chunk alter column deflated set storage external;

-- Append-only. phase: received, picked_up (again after a re-queue), terminal. status: the task's, as on the wire.
create table if not exists sandbox.request_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  profile_id integer,
  method text not null,
  path text not null,
  http_status integer,
  correlation_id uuid,
  phase text not null,
  status text,
  identifiers text[],
  -- Whether an Authorization header came, known key or not. The addresses of result files need none and read none.
  key_sent boolean,
  -- What chaos did to this request or task; null: nothing.
  chaos text[]
);
create index if not exists request_log_at on sandbox.request_log (at);
create index if not exists request_log_correlation on sandbox.request_log (correlation_id);
`
