import { type Kysely, sql } from 'kysely'

/** What was sent against what came back: one line per comparison, and the inputs that differ. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table input_comparison (
      run_id bigint primary key references run,
      submission_id bigint not null references submission,
      compared_at timestamptz not null default clock_timestamp(),
      withheld text,
      inputs bigint not null default 0,
      equal bigint not null default 0,
      written_differently bigint not null default 0,
      unjudged bigint not null default 0,
      absent bigint not null default 0,
      different bigint not null default 0,
      new bigint not null default 0,
      unsettled bigint not null default 0,
      foreign_values bigint not null default 0,
      foreign_companies bigint not null default 0,
      other_fields bigint not null default 0,
      left_out_companies bigint not null default 0
    )`.execute(db)
  // No foreign key to the ledger: its trigger would run once a difference, and rows of the ledger are never deleted.
  await sql`
    create table input_difference (
      kind text not null check (kind in ('absent', 'different', 'foreign')),
      company_id uuid not null,
      period_year integer not null,
      period_month smallint check (period_month between 1 and 12),
      variable_id text not null,
      row_id bigint,
      sent text,
      stored text,
      cause text check (cause in ('mapped_since', 'company_not_returned', 'period_not_returned', 'value_not_returned')),
      found_by_run bigint not null references run,
      found_at timestamptz not null,
      unique nulls not distinct (company_id, period_year, period_month, variable_id),
      check ((kind = 'absent') = (cause is not null)),
      check ((kind = 'absent') = (stored is null)),
      check ((kind = 'foreign') = (row_id is null))
    )`.execute(db)
  await sql`create index input_difference_kind on input_difference (kind, found_at)`.execute(db)

  await sql`
    create view input_differences as
    select d.kind, coalesce(r.partner_id, mapped.partner_id) as partner_id, d.company_id, d.period_year, d.period_month,
      d.variable_id, n.name as variable_name, d.sent, d.stored, d.cause, r.accepted_at,
      r.outcome_submission as submission_id, d.found_by_run, d.found_at
    from input_difference d
    left join source_row r using (row_id)
    left join lateral (
      select m.partner_id from mapping m
      where d.row_id is null and m.company_id = d.company_id
      order by m.mapped_at desc, m.partner_id
      limit 1
    ) mapped on true
    left join lateral (
      select v.name from calculator_variable v where lower(v.variable_id) = d.variable_id order by v.variable_key limit 1
    ) n on true`.execute(db)
  await sql`create index calculator_variable_lower on calculator_variable (lower(variable_id))`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

const comments = [
  sql`comment on table input_comparison is
    'One line per comparison of what was sent with what came back: what was counted, or why nothing was compared'`,
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
