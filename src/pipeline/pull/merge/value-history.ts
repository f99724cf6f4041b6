import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { shownText, type Texts } from '../../../db/ledger/shown-texts.ts'
import { isOfDestination } from '../../../db/runs/newest-runs.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { ValueChangesView } from '../../../db/tables/history-tables.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { knownBefore } from './known-companies.ts'
import { notRenewedSince } from './unrenewed-parts.ts'

/**
 * Says whether a search records the changes of values that it brings, before the first of its pages is loaded: from
 * then on it is a fact of the search, whatever the configuration of the process that loads a page.
 *
 * A search that does not record leaves a gap, after which nobody can say since when a value has stood. So the history
 * begins again with the next one that does; what was recorded before stays in `value_changes`. Searches before it that
 * did not come to their end are netted now: nobody will end them any more.
 */
export async function beginHistory(trx: Transaction<Schema>, submissionId: number, recorded: boolean): Promise<void> {
  await netChanges(trx, await unendedSearches(trx, submissionId))
  if (!recorded) {
    await trx.deleteFrom('history_start').execute()
    await trx.deleteFrom('complete_search').execute()
    return
  }
  await trx.updateTable('submission').set({ history: true }).where('submission_id', '=', submissionId).execute()
  await sql`
    insert into history_start (began_at) values (statement_timestamp()) on conflict do nothing`.execute(trx)
}

/**
 * The part of a statement that records what its other part, called `source`, has changed: rows with the key of a value,
 * `before` and `after`. It writes nothing, and costs nothing, unless the search records. Before the marks of what it
 * concerns are taken off: they say since when no search had shown what was there.
 */
export function recordChanges(
  source: 'changed' | 'removed' | 'added' | 'gone_values' | 'arrived',
  submissionId: number,
): RawBuilder<unknown> {
  return sql`
    insert into calculator_value_change
      (company_key, calculator_key, direction, variable_key, before, after, submission_id, not_renewed_since)
    select v.company_key, v.calculator_key, v.direction, v.variable_key, v.before, v.after, ${submissionId}::bigint,
      case when v.before is not null then ${notRenewedSince} end
    from ${sql.table(source)} v
    where (select history from submission where submission_id = ${submissionId})`
}

/** The searches that recorded, after the last one that came to its end, and did not. */
async function unendedSearches(trx: Transaction<Schema>, before: number): Promise<number[]> {
  const { rows } = await sql<{ submission_id: number }>`
    select submission_id from submission
    where kind = ${searchKind} and history and search_result is null and submission_id < ${before}
      and submission_id > coalesce((
        select max(submission_id) from submission
        where kind = ${searchKind} and search_result is not null and submission_id < ${before}
      ), 0)`.execute(trx)
  return rows.map(({ submission_id }) => submission_id)
}

/**
 * Leaves, of several changes that one search brought to a value, what they come to: a company on two pages may lose a
 * calculator with the one and get it back with the other. Of a calculator that the search was the first to show nothing
 * is left: what one page gave of it and another one completed is what it was first seen with. Can be repeated.
 */
export async function netChanges(trx: Transaction<Schema>, submissionIds: readonly number[]): Promise<void> {
  if (submissionIds.length === 0) return
  for (const submissionId of submissionIds) {
    await sql`
      delete from calculator_value_change c using calculator k
      where c.submission_id = ${submissionId} and k.calculator_key = c.calculator_key
        and not ${knownBefore(submissionId)}`.execute(trx)
  }
  await sql`
    with several as materialized (
      select submission_id, company_key, calculator_key, direction, variable_key, min(change_id) as first,
        max(change_id) as last
      from calculator_value_change
      where submission_id = any(${submissionIds}::bigint[])
      group by submission_id, company_key, calculator_key, direction, variable_key
      having count(*) > 1
    ), net as materialized (
      select s.*, f.before, f.not_renewed_since, l.after, f.before is not distinct from l.after as nothing
      from several s
      join calculator_value_change f using (company_key, calculator_key, direction, variable_key)
      join calculator_value_change l using (company_key, calculator_key, direction, variable_key)
      where f.change_id = s.first and l.change_id = s.last
    ), superfluous as (
      delete from calculator_value_change c using net
      where c.company_key = net.company_key and c.calculator_key = net.calculator_key
        and c.direction = net.direction and c.variable_key = net.variable_key
        and c.submission_id = net.submission_id and (c.change_id <> net.last or net.nothing)
    )
    update calculator_value_change c set before = net.before, not_renewed_since = net.not_renewed_since
    from net
    where c.company_key = net.company_key and c.calculator_key = net.calculator_key
      and c.direction = net.direction and c.variable_key = net.variable_key
      and c.change_id = net.last and not net.nothing`.execute(trx)
}

/** Notes that a search which records has proved what is absent: what stands and is of its types was seen by it. */
export async function noteCompleteSearch(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    insert into complete_search (submission_id, calculator_type_ids, ended_at)
    select submission_id, ${calculatorTypeIds}::uuid[], clock_timestamp()
    from submission where submission_id = ${submissionId} and history
    on conflict do nothing`.execute(trx)
}

/**
 * The part of a statement that keeps what its other part, called `source`, has removed of values: rows with the key of
 * a value and `before`. What is kept can be brought back.
 */
export function keepRemovedValues(source: 'removed' | 'gone_values', submissionId: number): RawBuilder<unknown> {
  return sql`
    insert into removed_value (company_key, calculator_key, direction, variable_key, value, submission_id)
    select company_key, calculator_key, direction, variable_key, before, ${submissionId}::bigint
    from ${sql.table(source)}`
}

/** The same of property values. */
export function keepRemovedProperties(source: 'removed', submissionId: number): RawBuilder<unknown> {
  return sql`
    insert into removed_property (company_key, property_key, ordinal, value, submission_id)
    select company_key, property_key, ordinal, value, ${submissionId}::bigint from ${sql.table(source)}`
}

/**
 * Keeps what lists of property values lose: each value as often as fewer of it are to stand, under its old place. By
 * its place alone another value would be taken for the lost one: of a, b and c the b goes, and c moves up. Before the
 * lists are changed, and all in one statement: what was removed at one moment is one list, and comes back whole.
 *
 * @param changing the keys of the lists, as a query: company_key, property_key.
 * @param coming what is to stand in them, as a query: company_key, property_key, ordinal, value.
 */
export async function keepLostOfLists(
  trx: Transaction<Schema>,
  changing: RawBuilder<unknown>,
  coming: RawBuilder<unknown>,
  submissionId: number,
): Promise<void> {
  await sql`
    with changing as materialized (${changing}), stands as (
      select l.company_key, l.property_key, t.ordinal, t.value, t.nth
      from changing l cross join lateral (
        select p.ordinal, p.value, row_number() over (partition by p.value order by p.ordinal) as nth
        from company_property p where p.company_key = l.company_key and p.property_key = l.property_key
      ) t
    ), coming as (
      select company_key, property_key, c.value,
        row_number() over (partition by company_key, property_key, c.value order by c.ordinal) as nth
      from (${coming}) c join changing using (company_key, property_key)
    ), removed as (
      select s.* from stands s left join coming c using (company_key, property_key, value, nth)
      where c.company_key is null
    )
    ${keepRemovedProperties('removed', submissionId)}`.execute(trx)
}

/** Which changes of values a person asks about; what is left out does not matter. */
export type ChangeFilter = { runId?: number; since?: Date; partnerId?: string }

export type ListedChange = ValueChangesView & { partner_id: string | null; company_name: string | null }

/** Recorded changes of values with the hotel that they concern, the newest first. */
export async function listChanges(
  db: Database,
  filter: ChangeFilter,
  limit: number,
  texts: Texts,
): Promise<ListedChange[]> {
  // Those of one run lie side by side, which the planner does not know: by the index it would reach an old run's last.
  const newest = filter.runId === undefined ? sql`v.change_id` : sql`v.change_id + 0`
  const { rows } = await sql<ListedChange>`
    select v.change_id, v.run_id, v.changed_at, v.company_id, v.calculator_id, v.period_year, v.period_month,
      v.direction, v.variable_id, v.variable_name, v.kind, ${shownText(sql`v.before`, texts)} as before,
      ${shownText(sql`v.after`, texts)} as after, o.partner_id, o.name as company_name
    from value_changes v join companies o using (company_id)
    where ${asked(filter)}
    order by ${newest} desc
    limit ${limit}`.execute(db)
  return rows
}

export type ChangeCounts = { added: number; changed: number; removed: number; companies: number }

/** How many there are, of which kind, and of how many companies. */
export async function countChanges(db: Database, filter: ChangeFilter): Promise<ChangeCounts> {
  const { rows } = await sql<ChangeCounts>`
    select count(*) filter (where kind = 'added') as added, count(*) filter (where kind = 'changed') as changed,
      count(*) filter (where kind = 'removed') as removed, count(distinct company_id) as companies
    from value_changes v where ${asked(filter)}`.execute(db)
  return rows[0] ?? { added: 0, changed: 0, removed: 0, companies: 0 }
}

function asked({ runId, since, partnerId }: ChangeFilter) {
  const conditions = [sql<boolean>`true`]
  if (runId !== undefined) conditions.push(sql`v.run_id = ${runId}`)
  if (since !== undefined) conditions.push(sql`v.changed_at >= ${since}`)
  if (partnerId !== undefined) {
    conditions.push(sql`v.company_id = (select company_id from mapping where mapping.partner_id = ${partnerId})`)
  }
  return sql.join(conditions, sql` and `)
}

/**
 * The newest run whose calculator search has loaded a page of the destination in use, and whether that recorded
 * changes; null before the first.
 */
export async function lastSearchedRun(
  db: Database,
  searchKind: string,
): Promise<{ run_id: number; history: boolean } | null> {
  const { rows } = await sql<{ run_id: number; history: boolean }>`
    select run_id, history
    from submission
    where kind = ${searchKind} and ${isOfDestination} and exists (
      select from search_page p where p.submission_id = submission.submission_id and p.state = 'loaded'
    )
    order by submission_id desc
    limit 1`.execute(db)
  return rows[0] ?? null
}
