/** Results of calculators that were published because their company has automatic publishing on. */
export const publicationSchema = `
-- The digest of the outputs that were published last. A company whose publishing is switched off keeps what was
-- published.
alter table sandbox.calculator add column if not exists published text;

-- Which request published the results of which calculators, for its report.
create table if not exists sandbox.published_by_task (
  task_id uuid not null references sandbox.task on delete cascade,
  company_id uuid not null,
  calculator_ids uuid[] not null,
  primary key (task_id, company_id)
);

-- Worlds of before kept the published outputs themselves, and a line for each calculator of a request.
do $$
begin
  if to_regclass('sandbox.published_result') is null then return; end if;
  update sandbox.calculator set published = (
    select encode(sha256(convert_to(string_agg(key || ' ' || value, E'\\n' order by key collate "C"), 'UTF8')), 'base64')
    from jsonb_each_text(earlier.outputs)
  )
  from sandbox.published_result earlier where earlier.calculator_id = calculator.id;
  insert into sandbox.published_by_task
  select task_id, company_id, array_agg(calculator_id) from sandbox.publication group by 1, 2;
  drop table sandbox.published_result, sandbox.publication;
end
$$;
`
