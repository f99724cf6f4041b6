import { type Kysely, sql } from 'kysely'

/**
 * What the partner wants apart from what one destination took of it, and the destinations that this database knows.
 * Hashes are cut to 16 bytes: two contents of a hundred billion are equal by chance once in 10^16 ledgers.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await nameDestinations(db)
  await dropWhatReadsTheLedger(db)
  await moveAcceptances(db)
  await narrowContents(db)
  await keepMappings(db)
  await createViews(db)
  for (const comment of comments) await comment.execute(db)
}

async function nameDestinations(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table destination (
      destination_id integer generated always as identity primary key,
      name text not null unique,
      origin text,
      custom_identifier_id text,
      schema_name text unique,
      made_at timestamptz not null default clock_timestamp(),
      used_since timestamptz not null default clock_timestamp(),
      left_at timestamptz,
      check ((schema_name is null) = (left_at is null))
    )`.execute(db)
  // There is always one in use, and one only: its tables are those of the schema nightferry.
  await sql`create unique index destination_in_use on destination ((1)) where schema_name is null`.execute(db)
  await sql`insert into destination (name) values ('first')`.execute(db)
  await sql`
    create table destination_key (
      destination_id integer not null references destination,
      fingerprint text not null,
      profile_certainty text not null check (profile_certainty in ('certain', 'likely', 'told')),
      evidence text,
      known_since timestamptz not null default clock_timestamp(),
      primary key (destination_id, fingerprint)
    )`.execute(db)
  await sql`
    create function destination_in_use() returns integer language sql stable as $$
      select destination_id from destination where schema_name is null
    $$`.execute(db)
  await sql`
    alter table run add column destination_id integer not null default destination_in_use() references destination`.execute(
    db,
  )
  await sql`
    alter table judging_basis
      add column destination_id integer not null default destination_in_use() references destination`.execute(db)
  await sql`
    alter table judging_basis
      drop constraint judging_basis_reference_version_rules_key,
      add unique (destination_id, reference_version, rules)`.execute(db)
  await sql`alter table action drop constraint action_verb_check`.execute(db)
}

/** Views and the trigger name columns that move, or whose type changes. */
async function dropWhatReadsTheLedger(db: Kysely<unknown>): Promise<void> {
  await sql`drop view drift, rows_without_cursor, row_warnings, input_differences`.execute(db)
  await sql`drop trigger source_row_changed on source_row`.execute(db)
}

async function moveAcceptances(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table acceptance (
      row_id bigint not null,
      judged_by integer not null default 0,
      resent_count integer not null default 0,
      held_by bigint,
      outcome_submission bigint,
      retry_action bigint,
      outcome_at timestamptz,
      accepted_at timestamptz,
      partner_id text not null,
      wanted_hash bytea not null,
      accepted_hash bytea,
      refused_hash bytea,
      checked_hash bytea,
      resent_hash bytea,
      invalid_reason text,
      outcome text,
      outcome_code text,
      outcome_reason text
    )`.execute(db)
  await sql`
    insert into acceptance (row_id, judged_by, resent_count, held_by, outcome_submission, retry_action, outcome_at,
                            accepted_at, partner_id, wanted_hash, accepted_hash, refused_hash, checked_hash, resent_hash,
                            invalid_reason, outcome, outcome_code, outcome_reason)
    select row_id, judged_by, resent_count, held_by, outcome_submission, retry_action, outcome_at,
           accepted_at, partner_id, substring(desired_hash for 16), substring(accepted_hash for 16),
           substring(refused_hash for 16), substring(checked_hash for 16), substring(resent_hash for 16),
           invalid_reason, outcome, outcome_code, outcome_reason
    from source_row
    order by row_id`.execute(db)
  await sql`alter table acceptance add primary key (row_id)`.execute(db)
  // Of all that a row refers to, only whether it is in flight must never dangle.
  await sql`
    alter table acceptance
      add foreign key (held_by) references submission,
      add check (outcome in ('confirmed', 'inferred', 'rejected', 'unknown'))`.execute(db)
  await sql`
    create index acceptance_pending on acceptance (partner_id)
    where accepted_hash is distinct from wanted_hash`.execute(db)
  await sql`create index acceptance_held on acceptance (partner_id) where held_by is not null`.execute(db)
  await sql`
    create index acceptance_unjudged on acceptance (row_id)
    where accepted_hash is distinct from wanted_hash and checked_hash is distinct from wanted_hash`.execute(db)
  await sql`
    create index acceptance_judged_by on acceptance (judged_by, row_id)
    where accepted_hash is distinct from wanted_hash and checked_hash = wanted_hash`.execute(db)
  await sql`create index acceptance_refused on acceptance (outcome_code) where refused_hash is not null`.execute(db)
  await sql`create index acceptance_retry on acceptance (retry_action) where retry_action is not null`.execute(db)
}

async function narrowContents(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table source_row
      drop column judged_by, drop column resent_count, drop column held_by, drop column outcome_submission,
      drop column retry_action, drop column outcome_at, drop column accepted_at, drop column accepted_hash,
      drop column refused_hash, drop column checked_hash, drop column resent_hash, drop column invalid_reason,
      drop column outcome, drop column outcome_code, drop column outcome_reason,
      alter column desired_hash type bytea using substring(desired_hash for 16)`.execute(db)
  await sql`alter table submission_row alter column sent_hash type bytea using substring(sent_hash for 16)`.execute(db)
  await sql`alter table row_change alter column hash_before type bytea using substring(hash_before for 16)`.execute(db)
  await sql`
    alter table row_finding
      alter column row_hash type bytea using substring(row_hash for 16),
      alter column other_hash type bytea using substring(other_hash for 16)`.execute(db)
  await sql`
    create trigger source_row_changed after update of content on source_row
    for each row when (old.desired_hash is distinct from new.desired_hash)
    execute function keep_row_change()`.execute(db)
}

/** Which company a hotel was before, and what that company still holds of it. */
async function keepMappings(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table mapping_change (
      partner_id text not null,
      changed_at timestamptz not null default clock_timestamp(),
      company_before uuid not null,
      company_id uuid not null,
      submission_id bigint not null references submission,
      rows bigint not null
    )`.execute(db)
  await sql`create index mapping_change_partner on mapping_change (partner_id, changed_at)`.execute(db)
  await sql`create index mapping_change_submission on mapping_change (submission_id)`.execute(db)
  await sql`
    create table left_behind (
      company_id uuid not null,
      row_id bigint not null,
      content jsonb not null,
      accepted_at timestamptz not null,
      submission_id bigint,
      left_at timestamptz not null default clock_timestamp(),
      primary key (company_id, row_id)
    )`.execute(db)
  await sql`create index left_behind_row on left_behind (row_id)`.execute(db)
}

async function createViews(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view ledger as
    select s.row_id, s.stream, s.partner_id, s.row_key, s.content, s.desired_hash, s.contradiction, s.gone_at,
           s.guard_run, s.guard_change, s.first_seen_at, s.changed_at,
           a.accepted_hash is distinct from a.wanted_hash as pending,
           a.checked_hash = a.wanted_hash as judged, a.checked_hash is distinct from a.wanted_hash as unjudged,
           a.accepted_hash, a.refused_hash, a.checked_hash, a.judged_by, a.invalid_reason, a.held_by, a.outcome,
           a.outcome_code, a.outcome_reason, a.outcome_submission, a.outcome_at, a.accepted_at, a.retry_action,
           a.resent_hash, a.resent_count
    from source_row s join acceptance a using (row_id)`.execute(db)
  await sql`
    create view drift as
    select stream, partner_id, row_key, content, accepted_at, outcome, gone_at as gone_since, 'gone' as why,
           (select company_id from mapping where mapping.partner_id = ledger.partner_id) as company_id
    from ledger
    where gone_at is not null and (accepted_at is not null or outcome = 'unknown' or held_by is not null)
    union all
    select stream, partner_id, row_key, left_behind.content, left_behind.accepted_at, null, left_at, 'remapped',
           left_behind.company_id
    from left_behind join source_row using (row_id)
    -- What the old company was sent again since, because its hotel came back to it, is in its place.
    where not exists (
      select from mapping join acceptance using (partner_id)
      where mapping.company_id = left_behind.company_id and acceptance.row_id = left_behind.row_id
        and acceptance.accepted_hash is not null)`.execute(db)
  await sql`
    create view rows_without_cursor as
    select stream, partner_id, row_key, since
    from null_cursor_row
    join source_row using (row_id)
    where gone_at is null`.execute(db)
  await sql`
    create view row_warnings as
    select row.stream, row.partner_id, row.row_key, kind as warning, detail, found_at as since
    from row_finding
    join source_row row using (row_id)
    left join source_row other on other.row_id = other_row_id
    where kind in ('partner_ids_alike', 'coordinates_zero', 'field_type_unseen')
      and row.gone_at is null and other.gone_at is null`.execute(db)
  await sql`
    create view input_differences as
    select d.kind, coalesce(r.partner_id, mapped.partner_id) as partner_id, d.company_id, d.period_year, d.period_month,
      d.variable_id, n.name as variable_name, d.sent, d.stored, d.cause, r.accepted_at,
      r.outcome_submission as submission_id, d.found_by_run, d.found_at
    from input_difference d
    left join ledger r using (row_id)
    left join lateral (
      select m.partner_id from mapping m
      where d.row_id is null and m.company_id = d.company_id
      order by m.mapped_at desc, m.partner_id
      limit 1
    ) mapped on true
    left join lateral (
      select v.name from calculator_variable v where lower(v.variable_id) = d.variable_id order by v.variable_key limit 1
    ) n on true`.execute(db)
  await sql`
    create view destinations as
    select destination_id, name, origin, custom_identifier_id, schema_name is null as in_use,
           coalesce(schema_name, 'nightferry') as schema_name, made_at, used_since, left_at
    from destination`.execute(db)
  await sql`
    create view mapping_changes as
    select partner_id, changed_at, company_before, company_id, submission_id, rows from mapping_change`.execute(db)
}

const comments = [
  sql`comment on table destination is
    'The services, profiles and identifiers that rows were sent to. What one took is kept apart from what others took'`,
  sql`comment on column destination.schema_name is 'Where its tables wait while another is in use; null: it is in use'`,
  sql`comment on table acceptance is 'Per row of the ledger what the destination in use has taken of it'`,
  sql`comment on view destinations is 'The services, profiles and identifiers that rows were sent to'`,
  sql`comment on column destinations.destination_id is 'Its number'`,
  sql`comment on column destinations.name is 'What people call it'`,
  sql`comment on column destinations.origin is 'Scheme, host and port of the service; null before the first run'`,
  sql`comment on column destinations.custom_identifier_id is 'The identifier property under which companies are named there'`,
  sql`comment on column destinations.in_use is 'Whether runs send to it now'`,
  sql`comment on column destinations.schema_name is 'The schema that holds its tables and views'`,
  sql`comment on column destinations.made_at is 'When it was first used'`,
  sql`comment on column destinations.used_since is 'When it was last put to use'`,
  sql`comment on column destinations.left_at is 'When another took its place; null while it is in use'`,
  sql`comment on view mapping_changes is 'Hotels whose mapping moved to another company'`,
  sql`comment on column mapping_changes.partner_id is 'The partner''s id of the property'`,
  sql`comment on column mapping_changes.changed_at is 'When the new mapping was settled'`,
  sql`comment on column mapping_changes.company_before is 'The company that it was'`,
  sql`comment on column mapping_changes.company_id is 'The company that it is from then on'`,
  sql`comment on column mapping_changes.submission_id is 'The submission whose result said so'`,
  sql`comment on column mapping_changes.rows is 'Rows that were accepted for the old company and became pending again'`,
  sql`comment on view ledger is 'Every row that the partner wants at the service, with what the destination in use took of it'`,
  sql`comment on column ledger.row_id is 'Its number'`,
  sql`comment on column ledger.stream is 'The kind of row'`,
  sql`comment on column ledger.partner_id is 'The partner''s id of the property'`,
  sql`comment on column ledger.row_key is 'What the row writes at the service, unique within its stream'`,
  sql`comment on column ledger.content is 'What the partner has of it'`,
  sql`comment on column ledger.desired_hash is 'The first 16 bytes of the SHA-256 of that'`,
  sql`comment on column ledger.contradiction is 'Why the partner''s own rows contradict each other'`,
  sql`comment on column ledger.gone_at is 'Since when the partner has it no longer'`,
  sql`comment on column ledger.guard_run is 'The run whose plan waits for approval'`,
  sql`comment on column ledger.guard_change is 'What that would do to the row: new, changed or gone'`,
  sql`comment on column ledger.first_seen_at is 'When a run first read it'`,
  sql`comment on column ledger.changed_at is 'When a run last read something new of it'`,
  sql`comment on column ledger.pending is 'Whether what is wanted differs from what was accepted'`,
  sql`comment on column ledger.judged is 'Whether preflight has judged it as it is; null if it never judged it'`,
  sql`comment on column ledger.unjudged is 'Whether it has not'`,
  sql`comment on column ledger.accepted_hash is 'The hash of what was accepted'`,
  sql`comment on column ledger.refused_hash is 'The hash of what was rejected, and is not sent again as it is'`,
  sql`comment on column ledger.checked_hash is 'The hash of what preflight judged'`,
  sql`comment on column ledger.judged_by is 'By what preflight judged it: judging_basis'`,
  sql`comment on column ledger.invalid_reason is 'Why preflight refused it'`,
  sql`comment on column ledger.held_by is 'The submission, planned or in flight, that holds it'`,
  sql`comment on column ledger.outcome is 'The last outcome: confirmed, inferred, rejected or unknown'`,
  sql`comment on column ledger.outcome_code is 'Its code'`,
  sql`comment on column ledger.outcome_reason is 'Its words'`,
  sql`comment on column ledger.outcome_submission is 'The submission that it is from'`,
  sql`comment on column ledger.outcome_at is 'When it was settled'`,
  sql`comment on column ledger.accepted_at is 'When the row was last accepted'`,
  sql`comment on column ledger.retry_action is 'The retry that asks for it to be sent again'`,
  sql`comment on column ledger.resent_hash is 'The hash of what policies sent again'`,
  sql`comment on column ledger.resent_count is 'How often they did'`,
  sql`comment on view drift is 'Rows that the service has, or may have, where the partner wants them no longer'`,
  sql`comment on column drift.stream is 'The kind of row'`,
  sql`comment on column drift.partner_id is 'The partner''s id of the property'`,
  sql`comment on column drift.row_key is 'What the row wrote at the service, unique within its stream'`,
  sql`comment on column drift.content is 'What the partner had of it last'`,
  sql`comment on column drift.accepted_at is 'When the service last accepted the row; null if nobody knows whether it did'`,
  sql`comment on column drift.outcome is 'The last outcome'`,
  sql`comment on column drift.gone_since is 'Since when it is out of place'`,
  sql`comment on column drift.why is
    'gone: the partner has it no longer; remapped: its hotel is another company now, and the old one still holds it'`,
  sql`comment on column drift.company_id is 'The company that holds it; null where its hotel is not mapped'`,
  sql`comment on view rows_without_cursor is 'Rows that the partner yielded without a cursor when their stream was last read'`,
  sql`comment on column rows_without_cursor.stream is 'The kind of row'`,
  sql`comment on column rows_without_cursor.partner_id is 'The partner''s id of the property'`,
  sql`comment on column rows_without_cursor.row_key is 'Unique within its stream'`,
  sql`comment on column rows_without_cursor.since is 'When a run first found it without a cursor'`,
  sql`comment on view row_warnings is 'Rows that look wrong and are sent all the same'`,
  sql`comment on column row_warnings.stream is 'The kind of row'`,
  sql`comment on column row_warnings.partner_id is 'The partner''s id of the property'`,
  sql`comment on column row_warnings.row_key is 'What the row writes at the service, unique within its stream'`,
  sql`comment on column row_warnings.warning is 'partner_ids_alike, coordinates_zero or field_type_unseen'`,
  sql`comment on column row_warnings.detail is 'What looks wrong'`,
  sql`comment on column row_warnings.since is 'When that was found'`,
  sql`comment on view input_differences is
    'Inputs of calculators that the service accepted and does not show as they were sent, and inputs of others'`,
  sql`comment on column input_differences.kind is
    'absent: sent and not there; different: there with another value; foreign: there and never sent by us'`,
  sql`comment on column input_differences.partner_id is
    'The partner''s id of the property: whose row was sent, or, of foreign ones, the latest that is mapped to the company'`,
  sql`comment on column input_differences.company_id is 'The id of the company at the service'`,
  sql`comment on column input_differences.period_year is 'Year of the reporting period'`,
  sql`comment on column input_differences.period_month is 'Month of the reporting period, 1 to 12; null if yearly'`,
  sql`comment on column input_differences.variable_id is 'The field type id, in lower case'`,
  sql`comment on column input_differences.variable_name is 'The name at the service; null while no page has named it'`,
  sql`comment on column input_differences.sent is 'The text that the service accepted; null for a blank one, and of foreign ones'`,
  sql`comment on column input_differences.stored is
    'What the service shows; of several calculators all that differ, separated by a slash. Null where it is absent'`,
  sql`comment on column input_differences.cause is
    'Of absent ones: mapped_since, company_not_returned, period_not_returned or value_not_returned'`,
  sql`comment on column input_differences.accepted_at is 'When the service last accepted the row; null of foreign ones'`,
  sql`comment on column input_differences.submission_id is 'The submission whose outcome that was'`,
  sql`comment on column input_differences.found_by_run is 'The run that first found it of this kind'`,
  sql`comment on column input_differences.found_at is 'When that was'`,
]
