import { type Kysely, sql } from 'kysely'

/** Versions of the reference data, what rows were judged by, and what was found of rows beside others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table reference_version (
      version integer primary key,
      run_id bigint references run,
      fetched_at timestamptz not null,
      confirmed_at timestamptz not null,
      documents bigint not null,
      changes bigint not null,
      accepted_by text
    )`.execute(db)
  await sql`
    create table reference_change (
      version integer not null references reference_version on delete cascade,
      ordinal integer not null,
      kind text not null check (kind in ('unit_type', 'group', 'custom_property', 'framework')),
      document_id text not null,
      document_name text not null,
      item text not null check (item in ('document', 'question', 'data_point', 'option', 'unit')),
      item_id text not null,
      item_name text not null,
      within_id text,
      change text not null check (change in ('added', 'removed', 'changed')),
      detail text,
      primary key (version, ordinal)
    )`.execute(db)
  // Documents as they stood until a version replaced them; those in force are in reference_data.
  await sql`
    create table reference_past (
      kind text not null,
      id text not null,
      from_version integer not null,
      until_version integer not null,
      document jsonb not null,
      primary key (kind, id, from_version)
    )`.execute(db)
  await sql`
    create table reference_withheld (
      singleton boolean primary key default true check (singleton),
      run_id bigint references run,
      reason text not null,
      first_seen_at timestamptz not null,
      last_seen_at timestamptz not null,
      times integer not null,
      accepted_at timestamptz,
      accepted_by text
    )`.execute(db)
  await sql`alter table reference_data add column version integer not null default 0`.execute(db)
  await sql`
    insert into reference_version (version, fetched_at, confirmed_at, documents, changes)
    select 1, max(fetched_at), max(fetched_at), count(*), 0 from reference_data having count(*) > 0`.execute(db)
  await sql`update reference_data set version = 1`.execute(db)

  await sql`
    create table judging_basis (
      basis integer generated always as identity primary key,
      reference_version integer not null,
      rules jsonb not null,
      made_at timestamptz not null default clock_timestamp(),
      unique (reference_version, rules)
    )`.execute(db)
  await sql`alter table source_row add column judged_by integer not null default 0`.execute(db)
  await sql`
    create index source_row_unjudged on source_row (row_id)
    where accepted_hash is distinct from desired_hash and checked_hash is distinct from desired_hash and gone_at is null`.execute(
    db,
  )
  await sql`
    create index source_row_judged_by on source_row (judged_by, row_id)
    where accepted_hash is distinct from desired_hash and gone_at is null`.execute(db)

  await sql`
    create table row_finding (
      row_id bigint not null,
      kind text not null check (kind in
        ('answered_and_declined', 'two_frameworks', 'two_partner_ids',
         'partner_ids_alike', 'coordinates_zero', 'field_type_unseen')),
      other_row_id bigint,
      row_hash bytea,
      other_hash bytea,
      detail text not null,
      found_at timestamptz not null default clock_timestamp(),
      primary key (row_id, kind)
    )`.execute(db)
  await sql`
    create index row_finding_contradiction on row_finding (row_id)
    where kind in ('answered_and_declined', 'two_frameworks', 'two_partner_ids')`.execute(db)

  await sql`
    create view reference_changes as
    select version, fetched_at, kind, document_id, document_name, item, item_id, item_name, within_id, change,
           detail
    from reference_change join reference_version using (version)`.execute(db)
  await sql`
    create view row_warnings as
    select row.stream, row.partner_id, row.row_key, kind as warning, detail, found_at as since
    from row_finding
    join source_row row using (row_id)
    left join source_row other on other.row_id = other_row_id
    where kind in ('partner_ids_alike', 'coordinates_zero', 'field_type_unseen')
      and row.gone_at is null and other.gone_at is null`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on view reference_changes is 'What each version of the service''s reference data changed'`,
  sql`comment on column reference_changes.version is 'Grows with every fetch that differs'`,
  sql`comment on column reference_changes.fetched_at is 'When it was fetched'`,
  sql`comment on column reference_changes.kind is 'unit_type, group, custom_property or framework'`,
  sql`comment on column reference_changes.document_id is 'The id of the unit type, group, custom property or framework'`,
  sql`comment on column reference_changes.document_name is 'What it is called'`,
  sql`comment on column reference_changes.item is
    'document: the whole; else the question, data_point, option or unit in it that changed'`,
  sql`comment on column reference_changes.item_id is 'The id of that'`,
  sql`comment on column reference_changes.item_name is 'What that is called'`,
  sql`comment on column reference_changes.within_id is 'The data point of an option or a unit'`,
  sql`comment on column reference_changes.change is 'added, removed or changed'`,
  sql`comment on column reference_changes.detail is 'From what to what'`,
  sql`comment on view row_warnings is 'Rows that look wrong and are sent all the same'`,
  sql`comment on column row_warnings.stream is 'The kind of row'`,
  sql`comment on column row_warnings.partner_id is 'The partner''s id of the property'`,
  sql`comment on column row_warnings.row_key is 'What the row writes at the service, unique within its stream'`,
  sql`comment on column row_warnings.warning is 'partner_ids_alike, coordinates_zero or field_type_unseen'`,
  sql`comment on column row_warnings.detail is 'What looks wrong'`,
  sql`comment on column row_warnings.since is 'When that was found'`,
  sql`comment on column source_row.judged_by is 'By what preflight judged the row: judging_basis'`,
]
