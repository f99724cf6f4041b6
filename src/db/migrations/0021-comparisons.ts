import { type Kysely, sql } from 'kysely'

/** What was sent against what came back, for every kind of row, and what is sent again over it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table row_comparison (
      run_id bigint not null references run,
      kind text not null,
      submission_id bigint references submission,
      compared_at timestamptz not null default clock_timestamp(),
      withheld text,
      suspicious boolean not null default false,
      rows bigint not null default 0,
      equal bigint not null default 0,
      absent bigint not null default 0,
      different bigint not null default 0,
      unjudged bigint not null default 0,
      unsettled bigint not null default 0,
      new bigint not null default 0,
      primary key (run_id, kind)
    )`.execute(db)
  // No foreign key to the ledger: its trigger would run once a difference, and rows of the ledger are never deleted.
  await sql`
    create table row_difference (
      row_id bigint primary key,
      comparison text not null,
      kind text not null check (kind in ('absent', 'different')),
      company_id uuid not null,
      sent text not null,
      stored text,
      cause text check (cause in ('company_not_returned', 'value_not_returned')),
      changed_there_at timestamptz,
      found_by_run bigint not null references run,
      found_at timestamptz not null default clock_timestamp(),
      resent_by_run bigint references run,
      check ((kind = 'absent') = (cause is not null)),
      check ((kind = 'absent') = (stored is null))
    )`.execute(db)
  await sql`create index row_difference_comparison on row_difference (comparison)`.execute(db)
  await sql`alter table input_difference add column resent_by_run bigint references run`.execute(db)
  await sql`
    create table repair_held (
      run_id bigint not null references run,
      stream text not null,
      kind text not null check (kind in ('absent', 'different')),
      rows bigint not null,
      primary key (run_id, stream, kind)
    )`.execute(db)
  await sql`
    create view differences as
    select r.stream, d.kind, r.partner_id, d.company_id, r.row_key, null::text as variable_name, d.sent, d.stored, d.cause,
      r.accepted_at, r.outcome_submission as submission_id, d.changed_there_at, d.found_by_run, d.found_at, d.resent_by_run
    from row_difference d join ledger r using (row_id)
    union all
    select 'calculator_inputs', d.kind, d.partner_id, d.company_id, r.row_key, coalesce(d.variable_name, d.variable_id),
      d.sent, d.stored, d.cause, d.accepted_at, d.submission_id, null, d.found_by_run, d.found_at, i.resent_by_run
    from input_differences d
    join input_difference i on i.company_id = d.company_id and i.period_year = d.period_year
      and i.period_month is not distinct from d.period_month and i.variable_id = d.variable_id
    left join source_row r on r.row_id = i.row_id
    where d.kind <> 'foreign'`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on table row_comparison is
    'Per run and kind of row: what was counted as what was sent was held against what came back, or why it was not'`,
  sql`comment on table repair_held is
    'What a comparison found and did not have sent again by itself, because it is more than the guard lets through'`,
  sql`comment on view differences is
    'Rows that the service accepted and does not show as they were sent, as the last comparison of their kind found them'`,
  sql`comment on column differences.stream is 'The kind of row'`,
  sql`comment on column differences.kind is 'absent: sent and not there; different: there with another value'`,
  sql`comment on column differences.partner_id is 'The partner''s id of the property'`,
  sql`comment on column differences.company_id is 'The id of the company at the service'`,
  sql`comment on column differences.row_key is 'What the row writes at the service, unique within its stream'`,
  sql`comment on column differences.variable_name is 'Of calculator inputs: the field, by its name where a page has named it'`,
  sql`comment on column differences.sent is 'What the service accepted'`,
  sql`comment on column differences.stored is 'What the service shows; null where it is absent'`,
  sql`comment on column differences.cause is 'Of absent ones: what of it did not come back'`,
  sql`comment on column differences.accepted_at is 'When the service last accepted the row'`,
  sql`comment on column differences.submission_id is 'The submission whose outcome that was'`,
  sql`comment on column differences.changed_there_at is 'When the service says that it was changed there; null where it does not'`,
  sql`comment on column differences.found_by_run is 'The run that first found it'`,
  sql`comment on column differences.found_at is 'When that was'`,
  sql`comment on column differences.resent_by_run is 'The run after which the row was to be sent again over it; null: it was not'`,
]
