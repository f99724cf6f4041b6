/** Results of calculators that were published because their company has automatic publishing on. */
export const publicationSchema = `
-- outputs: as published last. A company whose publishing is switched off keeps what was published.
create table if not exists sandbox.published_result (
  calculator_id uuid primary key references sandbox.calculator on delete cascade,
  outputs jsonb not null
);

-- Which request published which results, for its report.
create table if not exists sandbox.publication (
  task_id uuid not null references sandbox.task on delete cascade,
  company_id uuid not null,
  calculator_id uuid not null,
  primary key (task_id, company_id, calculator_id)
);
`
