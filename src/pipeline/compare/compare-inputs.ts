import { type RawBuilder, sql, type Transaction } from 'kysely'
import { rowStanding } from '../../db/ledger/row-standing.ts'
import { lockRun } from '../../db/runs/run-life.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'
import { ofSelectedType } from '../pull/merge/known-companies.ts'
import { askedOf } from '../pull/search/search-pages.ts'
import { searchKind } from '../streams/kind-names.ts'
import { carriedStreams } from '../streams/our-streams.ts'
import { noteNotCompared, storeDifferences } from './input-differences.ts'

/**
 * Closes the loop: the inputs that the service has accepted are compared with those that the run's search returned
 * (specification, Calculator search result page). A search that cannot prove absence is compared with nothing, and the
 * differences stay those of the last one that could. Does nothing in a run without a search.
 */
export async function compareInputs(deps: Deps, run: Run): Promise<void> {
  const search = await searchOf(deps, run)
  if (search === undefined) return
  const { calculatorTypeIds } = askedOf(search.asked, deps.config)
  await deps.db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return
    const reason = reasonNotToCompare(search)
    if (reason !== null) {
      await noteNotCompared(trx, run.run_id, search.submission_id, reason)
      return
    }
    const proven = { submissionId: search.submission_id, calculatorTypeIds }
    await stageInputs(trx, proven, carriedStreams(deps.contract, deps.config))
    await judgeInputs(trx, proven)
    await storeDifferences(trx, run.run_id, search.submission_id)
  })
  deps.logger.info({ run_id: run.run_id, submission_id: search.submission_id }, 'inputs_compared')
}

type EndedSearch = {
  submission_id: number
  asked: Record<string, unknown> | null
  /** Whether it was judged what the search proves absent. */
  ended: boolean
  /** Why it proves nothing absent, or null. */
  reason: string | null
  /** Parts of its pages that were left out, and how many of them the quarantine names. */
  left_out: number
  listed_out: number
}

/** Why what was sent cannot be compared with a search, or null. Pure. */
export function reasonNotToCompare({
  ended,
  reason,
  left_out,
  listed_out,
}: Omit<EndedSearch, 'submission_id' | 'asked'>): string | null {
  if (!ended) return 'pages_not_loaded'
  // Which companies lack a part is known only as far as the quarantine names it.
  return reason ?? (left_out > listed_out ? 'too_much_left_out' : null)
}

async function searchOf(deps: Deps, run: Run): Promise<EndedSearch | undefined> {
  const { rows } = await sql<EndedSearch>`
    select submission_id, asked, search_result is not null as ended, search_result ->> 'reason' as reason,
           (select coalesce(sum(quarantined), 0)::bigint from search_page p
             where p.submission_id = s.submission_id) as left_out,
           (select count(*) from quarantine join search_page p using (page_id)
             where p.submission_id = s.submission_id) as listed_out
    from submission s
    where run_id = ${run.run_id} and kind = ${searchKind} and state = 'settled'`.execute(deps.db)
  return rows[0]
}

/**
 * Judges what `stageInputs` has laid out: the tables `judged_input`, of those that do not stand as they were sent, and
 * `foreign_input`.
 *
 * An input stands where one calculator of its company and period holds the very text; several types may contain it. One
 * that is blank stands where no calculator holds any. Where several properties of ours are one company, what stands may
 * be what any of them sent last: it is right if it is right for one of them, and not judged while one is unsettled. A
 * blank of one makes no value of another right. One that is silent, such as one that is gone at the partner, only tells
 * that its values are not foreign.
 *
 * If the search selected calculator types, absence might be that of a calculator that was not asked for, and is not
 * judged.
 */
export async function judgeInputs(trx: Transaction<Schema>, search: ProvenSearch): Promise<void> {
  const selective = search.calculatorTypeIds.length > 0
  await sql`
    create temporary table doubted_company on commit drop as
    select company, company_key from compared_company
    where company in (select company from unequal_input where row_id is not null)`.execute(trx)
  await sql`analyze doubted_company`.execute(trx)
  await sql`
    create temporary table stored_input on commit drop as
    ${storedInputs(sql`doubted_company`, search, true)}`.execute(trx)
  await sql`analyze stored_input`.execute(trx)
  await sql`
    create temporary table disagreement on commit drop as
    select s.* from unequal_input s where s.row_id is not null and s.value is not null
    union all
    select s.* from unequal_input s
    where s.row_id is not null and s.value is null and exists (select from stored_input t where ${sameKey})`.execute(
    trx,
  )
  await sql`
    create temporary table unsent_input on commit drop as
    select s.company, s.year, s.month, s.variable_key, s.value
    from unequal_input s
    where s.row_id is null and not exists (select from sent_input t where ${sameKey})`.execute(trx)
  await sql`analyze disagreement, unsent_input`.execute(trx)
  // The service adds months up to years where it was told to: years of which we sent a month.
  await sql`
    create temporary table summed_year on commit drop as
    select distinct company, year, variable_key, 0 as month
    from sent_input
    where month > 0 and value is not null
      and (company, year, variable_key) in (
        select company, year, variable_key from unsent_input where month = 0
        union all
        select company, year, variable_key from disagreement where value is null)`.execute(trx)
  await sql`analyze summed_year`.execute(trx)
  const { rows } = await sql<{ any: boolean }>`select exists (select from disagreement) as any`.execute(trx)
  // Joined with what is judged alone.
  if (rows[0]?.any === true) await sql`analyze sent_input (company, year, month, field_id)`.execute(trx)
  await sql`
    create temporary table judged_input on commit drop as
    with shown as (
      select s.row_id, s.field_id, string_agg(distinct t.value, ' / ' order by t.value) as stored,
             bool_or(btrim(t.value) = btrim(s.value)
               or numeric_reading(btrim(t.value)) = numeric_reading(btrim(s.value))) as alike
      from disagreement s join stored_input t on ${sameKey}
      group by s.row_id, s.field_id
    ),
    siblings as (
      select s.row_id, s.field_id, bool_or(not other.settled and not other.silent) as unsettled,
             bool_or(other.settled and wrong.row_id is null and (other.value is not null or s.value is null))
               as right_for_another
      from disagreement s
      join sent_input other on other.company = s.company and other.year = s.year and other.month = s.month
        and other.field_id = s.field_id and other.row_id <> s.row_id
      left join disagreement wrong on wrong.row_id = other.row_id and wrong.field_id = other.field_id
      group by s.row_id, s.field_id
    ),
    ranked as (
      select s.*, shown.stored, coalesce(shown.alike, false) as alike, coalesce(siblings.unsettled, false) as unsettled,
             coalesce(siblings.right_for_another, false) as right_for_another,
             summed_year.company is not null as summed,
             row_number() over (
               partition by s.company, s.year, s.month, s.field_id
                 order by s.value is null, row.accepted_at desc, s.row_id desc) as latest
      from disagreement s
      join acceptance row using (row_id)
      left join shown using (row_id, field_id)
      left join siblings using (row_id, field_id)
      left join summed_year on summed_year.company = s.company and summed_year.year = s.year
        and summed_year.month = s.month and summed_year.variable_key = s.variable_key
    )
    select s.*,
      case
        when alike then 'written_differently'
        when right_for_another or (value is null and summed) then 'equal'
        when unsettled or latest > 1 or (stored is null and ${selective}::boolean) then 'unjudged'
        when stored is null then 'absent'
        else 'different'
      end as verdict
    from ranked s`.execute(trx)
  // A value of the year that nobody sent, while its months were, is the sum that the service makes by itself.
  await sql`
    create temporary table foreign_input on commit drop as
    select s.company, s.year, s.month, s.variable_key, string_agg(distinct s.value, ' / ' order by s.value) as stored,
           s.variable_key = any(array(select distinct variable_key from sent_input where variable_key is not null))
             as ours
    from unsent_input s
    where not exists (select from summed_year t where ${sameKey})
    group by s.company, s.year, s.month, s.variable_key`.execute(trx)
}

const sameKey = sql<boolean>`t.company = s.company and t.year = s.year and t.month = s.month
  and t.variable_key = s.variable_key`

/** A search that proves what is absent, and what it asked for. */
type ProvenSearch = {
  submissionId: number
  /** The calculator types that it selected; empty for all. */
  calculatorTypeIds: readonly string[]
}

/**
 * Lays out, for as long as the transaction lasts, what is to be compared: the table `compared_company` (mapped
 * companies of which no part was left out of a page, and no calculator or value stands that it did not renew),
 * `sent_input` (every input of theirs in the ledger, `settled` or `silent` as its row stands: `rowStanding`) and
 * `unequal_input`: settled inputs of which the search returned no equal, and, without a `row_id`, returned inputs of
 * which the ledger has none. Under integer keys, because there are millions.
 */
export async function stageInputs(
  trx: Transaction<Schema>,
  search: ProvenSearch,
  carried: readonly string[],
): Promise<void> {
  const { submissionId } = search
  await sql`
    create temporary table left_out_company on commit drop as
    select distinct quarantine.company_id
    from quarantine join search_page using (page_id) join mapping on mapping.company_id = quarantine.company_id
    where search_page.submission_id = ${submissionId} and unit in ('company', 'calculator', 'value')
    union
    select company.company_id
    from unrenewed_part join company using (company_key) join mapping using (company_id)
    where part in ('company', 'calculator', 'value')`.execute(trx)
  await sql`
    create temporary table compared_company on commit drop as
    select (row_number() over ())::integer as company, company_id, company_key
    from (select distinct company_id from mapping) mapped
    left join company using (company_id)
    where not exists (select from left_out_company out where out.company_id = mapped.company_id)
    `.execute(trx)
  await sql`update compared_company set company_key = null
    where company_key in (select company_key from company where removed_at is not null)`.execute(trx)
  // Every spelling of a field goes by the lowest of their keys.
  await sql`
    create temporary table field_variable on commit drop as
    select variable_key, lower(variable_id) as field_id,
           min(variable_key) over (partition by lower(variable_id)) as field_key
    from calculator_variable`.execute(trx)
  // Looked up for each of millions of values, of which the planner may expect one.
  await sql`create unique index on field_variable (variable_key)`.execute(trx)
  await sql`analyze compared_company, field_variable`.execute(trx)
  const { rows } = await sql<{ several: boolean }>`
    select exists (select from field_variable where variable_key <> field_key) as several`.execute(trx)
  await sql`
    create temporary table sent_input on commit drop as
    select sent.company, sent.row_id, sent.year, sent.month, v.variable_key,
           coalesce(v.field_id, lower(part.key)) as field_id,
           case when btrim(part.value, E' \\t\\r\\n') <> '' then part.value end as value,
           sent.standing = 'settled' as settled, sent.standing = 'silent' as silent
    from (
      select c.company, row.row_id, row.content -> 'inputs' as inputs,
             -- What is not accepted need not be a period.
             case when row.content ->> 'year' ~ '^[0-9]{1,4}$' then (row.content ->> 'year')::integer end as year,
             case when row.content ->> 'month' is null then 0
                  when row.content ->> 'month' ~ '^[0-9]{1,2}$' then (row.content ->> 'month')::integer end as month,
             ${rowStanding(carried)} as standing
      from ledger row
      join submission search on search.submission_id = ${submissionId}
      join mapping using (partner_id)
      join compared_company c using (company_id)
      where row.stream = 'calculator_inputs'
      -- Worked out once a row, not once for each of its inputs.
      offset 0
    ) sent
    cross join lateral jsonb_each_text(sent.inputs) part
    left join field_variable v on v.field_id = lower(part.key) and v.variable_key = v.field_key
    where sent.year is not null and sent.month is not null
      -- What was taken back in the other spelling of an id that is there was not sent.
      and (part.value is not null or not exists (
        select from jsonb_each_text(sent.inputs) twin
        where lower(twin.key) = lower(part.key) and twin.key <> part.key and twin.value is not null))`.execute(trx)
  // Nearly all are equal. So what is there is not written down a second time, and one join finds the rest of both
  // sides; a full join is never done row by row, whatever the planner believes of the tables.
  await sql`
    create temporary table unequal_input on commit drop as
    select s.row_id, s.field_id, coalesce(s.company, t.company) as company, coalesce(s.year, t.year) as year,
           coalesce(s.month, t.month) as month, coalesce(s.variable_key, t.variable_key) as variable_key,
           coalesce(s.value, t.value) as value
    from sent_input s
    full join (${storedInputs(sql`compared_company`, search, rows[0]?.several === true)}) t
      on t.company = s.company and t.year = s.year and t.month = s.month and t.variable_key = s.variable_key
        and t.value = s.value
    where s.row_id is null or (t.company is null and s.settled)`.execute(trx)
  await sql`analyze unequal_input`.execute(trx)
}

/**
 * The inputs that the search returned of the companies in a table, which has them as `company` and `company_key`.
 *
 * Calculators are joined with their companies first, whatever the planner makes of it. It takes the two keys of a value
 * for independent of each other, so that it expects next to nothing of values and calculators; where autovacuum was at
 * work on the values when it was to be told of them, it expected one row and looked through all companies for each of
 * five million.
 * @param several whether a field may have several spellings, which costs a look at each value.
 */
function storedInputs(
  companies: RawBuilder<unknown>,
  { calculatorTypeIds }: ProvenSearch,
  several: boolean,
): RawBuilder<unknown> {
  const [key, spelled] = several
    ? [sql`n.field_key as variable_key`, sql`join field_variable n using (variable_key)`]
    : [sql`v.variable_key`, sql``]
  return sql`
    select k.company, k.year, k.month, ${key}, v.value
    from (
      select c.company, company_key, calculator_key, period_year as year, coalesce(period_month, 0)::integer as month
      from ${companies} c
      join calculator using (company_key)
      where removed_at is null and ${ofSelectedType(calculatorTypeIds)}
      offset 0
    ) k
    join calculator_value v using (company_key, calculator_key)
    ${spelled}
    where v.direction = 'i'`
}
