import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { ofSelectedType } from './known-companies.ts'
import { variableOf } from './name-spelling.ts'

/** What a mark of a value says besides its key, in a statement that finds the mark there already. `since` stays. */
export const markAgain = sql`
  on conflict (company_key, part, calculator_key, direction, variable_key, property_key, ordinal) do update
  set reason = excluded.reason, withheld = excluded.withheld, submission_id = excluded.submission_id`

/**
 * Since when a value was not renewed, by a mark of its own, its calculator's or its company's; null where it was. The
 * row with the key of the value must be called `v`. Each mark is looked up by its whole key, and none where nothing is
 * marked at all.
 */
export const notRenewedSince = sql<Date | null>`
  case when exists (select from unrenewed_part) then least(
    ${sinceOf(sql`u.part = 'company' and u.calculator_key = 0 and u.direction = '-' and u.variable_key = 0`)},
    ${sinceOf(sql`u.part = 'calculator' and u.calculator_key = v.calculator_key and u.direction = '-'
      and u.variable_key = 0`)},
    ${sinceOf(sql`u.part = 'value' and u.calculator_key = v.calculator_key and u.direction = v.direction
      and u.variable_key = v.variable_key`)}
  ) end`

function sinceOf(mark: RawBuilder<unknown>): RawBuilder<Date | null> {
  return sql`(
    select u.since from unrenewed_part u
    where u.company_key = v.company_key and ${mark} and u.property_key = 0 and u.ordinal = 0
  )`
}

/** Whether anything stands that was not renewed. Mostly nothing does, and then nothing has to be looked for. */
export async function someUnrenewed(trx: Transaction<Schema>): Promise<boolean> {
  const { rows } = await sql<{ some: boolean }>`select exists (select from unrenewed_part) as some`.execute(trx)
  return rows[0]?.some === true
}

/**
 * Whether a part, as the condition says it of `u`, stands although no page of the search has given it so far: it is
 * marked so by this search, or brought back by a person.
 */
export function notGiven(submissionId: number, part: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from unrenewed_part u
    where (u.submission_id = ${submissionId} or u.reason = 'restored') and ${part}
  )`
}

/**
 * Marks companies, calculators, company names and titles of the page that stand as they did because the page gives
 * nothing of them that can be read, and takes the mark off those that it renews. After the merge of the rest. What
 * another page has given is not marked, and what a person has brought back keeps its mark until it is shown: one that
 * cannot be read is not.
 */
export async function markWholeParts(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into unrenewed_part (company_key, part, reason, withheld, submission_id)
    select c.company_key, 'company', s.name_problem, false, ${submissionId}::bigint
    from staged_company s join company c using (company_key)
    where not s.readable and not s.seen and c.removed_at is null
    union all
    select c.company_key, 'company_name', s.name_problem, false, ${submissionId}::bigint
    from staged_company s join company c using (company_key)
    where s.readable and not s.given and s.name is null and c.name is not null
    ${markAgain}
    where unrenewed_part.reason <> 'restored'`.execute(trx)
  // One that cannot be read is still that of the company which had it, and there it has to be read again.
  await sql`
    with marked as (
      insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
      select k.company_key, 'calculator', k.calculator_key, unread.reason, false, ${submissionId}::bigint
      from staged_calculator s
      join calculator k using (calculator_key)
      join (
        select calculator_id, min(reason) as reason from staged_left_out
        where unit = 'calculator' and reason <> 'calculator_twice'
        group by calculator_id
      ) unread on unread.calculator_id = s.calculator_id
      where not s.readable and not s.given and k.removed_at is null
      union all
      select k.company_key, 'calculator_title', k.calculator_key, s.title_problem, false, ${submissionId}::bigint
      from staged_calculator s join calculator k using (calculator_key)
      where s.readable and not s.given and s.title is null and k.title is not null
      ${markAgain}
      where unrenewed_part.reason <> 'restored'
      returning company_key
    )
    update company c set content_hash = null
    from marked m
    where c.company_key = m.company_key and c.content_hash is not null`.execute(trx)
  if (!(await someUnrenewed(trx))) return
  await sql`
    delete from unrenewed_part u using staged_company s
    where u.company_key = s.company_key and s.readable
      and (u.part = 'company' or (u.part = 'company_name' and s.name is not null))`.execute(trx)
  await sql`
    delete from unrenewed_part u using staged_calculator s
    where u.calculator_key = s.calculator_key and s.readable
      and (u.part = 'calculator' or (u.part = 'calculator_title' and s.title is not null))`.execute(trx)
}

/**
 * Marks what stands and the search has not shown, because it does not prove absence: companies, and calculators of the
 * companies that it has shown; where it is whole, also lists of property values that no page has given of a company on
 * several. What is withheld and a person has brought back, or a value of it, is marked as that: accepting what is
 * withheld leaves it.
 *
 * @param withheld whether the search is whole and shows suspiciously little; else it is not known what it would show.
 */
export async function markUnseen(
  trx: Transaction<Schema>,
  submissionId: number,
  reason: string,
  withheld: boolean,
): Promise<void> {
  await sql`
    insert into unrenewed_part
      (company_key, part, calculator_key, property_key, ordinal, reason, withheld, submission_id)
    select company_key, part, calculator_key, property_key, ordinal, why, ${withheld}, ${submissionId}::bigint
    from (
      select company_key, 'company' as part, 0 as calculator_key, 0 as property_key, 0 as ordinal, ${reason} as why
      from gone_company
      union all
      select company_key, 'calculator', calculator_key, 0, 0, ${reason}
      from gone_calculator where company_key not in (select company_key from gone_company)
      union all
      select company_key, 'property', 0, property_key, ordinal, ${reason}
      from gone_property where ${withheld} and company_key not in (select company_key from gone_company)
      union all
      select company_key, part, calculator_key, 0, 0, ${withheld ? 'restored' : reason} from protected_part
    ) unseen
    ${markAgain}
    where unrenewed_part.reason <> 'restored'`.execute(trx)
  // What is known of such a company is not just what its bytes say: it has to be read again.
  await sql`
    update company set content_hash = null
    where content_hash is not null and company_key in (
      select company_key from gone_calculator except select company_key from gone_company
    )`.execute(trx)
}

/**
 * Marks the companies and calculators that a search proves absent and that stand nevertheless, because a person has
 * brought them back or a value of theirs: accepting removals means them whole.
 */
export async function markProtected(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
    select company_key, part, calculator_key, 'restored', true, ${submissionId}::bigint from protected_part
    ${markAgain}
    where unrenewed_part.reason <> 'restored'`.execute(trx)
}

/**
 * Takes the mark off companies that the search has shown again, as they were, and off what does not stand any more. One
 * that a person has brought back is read before it can be as it was, and loses its mark then.
 */
export async function settleMarks(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  if (!(await someUnrenewed(trx))) return
  await sql`
    delete from unrenewed_part u using search_seen_company z
    where u.part = 'company' and u.submission_id <> ${submissionId} and u.reason <> 'restored'
      and z.submission_id = ${submissionId} and z.company_key = u.company_key`.execute(trx)
  await forgetMarksOfGone(trx)
}

/** Takes the mark off what does not stand any more. */
export async function forgetMarksOfGone(trx: Transaction<Schema>): Promise<void> {
  await sql`
    delete from unrenewed_part u
    where u.part in ('company', 'company_name') and not exists (
      select from company c where c.company_key = u.company_key and c.removed_at is null
    ) or u.part in ('calculator', 'calculator_title') and not exists (
      select from calculator k
      where k.company_key = u.company_key and k.calculator_key = u.calculator_key and k.removed_at is null
    ) or u.part = 'value' and not exists (
      select from calculator_value v
      where v.company_key = u.company_key and v.calculator_key = u.calculator_key
        and v.direction = u.direction and v.variable_key = u.variable_key
    ) or u.part = 'property' and not exists (
      select from company_property p
      where p.company_key = u.company_key and p.property_key = u.property_key and p.ordinal = u.ordinal
    )`.execute(trx)
}

/** How much of what is known of something a page, or a search, has shown. */
type Shown = { seen: number; known: number }

/**
 * Whether so little of what is known was shown that its absence is suspicious.
 *
 * @param minSeenShare 0 to 1. Divided, not multiplied: 55 of 100 is not below 0.55, while 100 times 0.55 is above 55.
 *   Of nothing known no share is.
 */
export function isSuspicious({ seen, known }: Shown, minSeenShare: number): boolean {
  return seen / known < minSeenShare
}

/**
 * The same, where there is more that was shown, which costs something to count: companies that are as they were. It is
 * counted only if it can make a difference, and no further than it does.
 *
 * @param countMore counts what else is known and was shown, up to a limit.
 */
export async function isSuspiciousWith(
  shown: Shown,
  minSeenShare: number,
  countMore: (limit: number) => Promise<number>,
): Promise<boolean> {
  if (!isSuspicious(shown, minSeenShare)) return false
  if (minSeenShare >= 1) return true
  const enough = Math.ceil((minSeenShare * shown.known - shown.seen) / (1 - minSeenShare)) + 1
  const more = await countMore(enough)
  return isSuspicious({ seen: shown.seen + more, known: shown.known + more }, minSeenShare)
}

export type UnrenewedOptions = {
  submissionId: number
  /** The types that the search selected; empty for all. */
  calculatorTypeIds: readonly string[]
  /** 0 to 1. */
  minSeenShare: number
  /** Companies of the page that are as they were, so that they are not staged. */
  unchangedKeys: readonly number[]
}

/**
 * Decides, of the values in value_difference that the page does not give (`removed`), which stay: those that a person
 * has brought back, those that the page gives in a form that cannot be right, and all inputs or outputs where the page
 * shows a smaller share of them than `minSeenShare`. They become `unrenewed`, with the reason, and are marked as not
 * renewed. Of a calculator that another page of the search has given, what stands is left as it is (`kept`).
 * @returns how many are still to be removed.
 */
export async function keepUnrenewedValues(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<number> {
  const { submissionId } = options
  await sql`
    update value_difference d set kind = 'kept'
    from staged_calculator k
    where d.kind = 'removed' and k.calculator_key = d.calculator_key and k.given`.execute(trx)
  if (await someUnrenewed(trx)) {
    await sql`
      update value_difference d set kind = 'unrenewed', reason = 'restored', withheld = true
      from unrenewed_part u
      where d.kind = 'removed' and u.part = 'value' and u.reason = 'restored' and u.company_key = d.company_key
        and u.calculator_key = d.calculator_key and u.direction = d.direction
          and u.variable_key = d.variable_key`.execute(trx)
  }
  await keepUnreadable(trx)
  await withholdSuspicious(trx, options)
  await sql`
    insert into unrenewed_part
      (company_key, part, calculator_key, direction, variable_key, reason, withheld, submission_id)
    select company_key, 'value', calculator_key, direction, variable_key, reason, withheld, ${submissionId}::bigint
    from value_difference where kind = 'unrenewed'
    ${markAgain}`.execute(trx)
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from value_difference where kind = 'removed'`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}

/** What the page gives, but not as a value: it does not show that the value is gone. */
async function keepUnreadable(trx: Transaction<Schema>): Promise<void> {
  const { rows } = await sql<{ some: boolean }>`select exists (select from staged_unrenewed_value) as some`.execute(trx)
  if (rows[0]?.some !== true) return
  await sql`
    update value_difference d set kind = 'unrenewed', reason = h.reason
    from (
      select k.calculator_key, h.direction, v.variable_key, min(h.reason) as reason
      from staged_unrenewed_value h
      join staged_calculator k using (calculator_ordinal)
      join (
        select variable_id, ${variableOf(sql`named.variable_id`)} as variable_key
        from (select distinct variable_id from staged_unrenewed_value) named
      ) v using (variable_id)
      group by 1, 2, 3
    ) h
    where d.kind = 'removed' and d.calculator_key = h.calculator_key and d.direction = h.direction
      and d.variable_key = h.variable_key`.execute(trx)
  await sql`
    update value_difference d set kind = 'unrenewed', reason = h.reason
    from (
      select k.calculator_key, h.direction, min(h.reason) as reason
      from staged_unrenewed_value h join staged_calculator k using (calculator_ordinal)
      where h.variable_id is null
      group by 1, 2
    ) h
    where d.kind = 'removed' and d.calculator_key = h.calculator_key and d.direction = h.direction`.execute(trx)
  // A group of null is left out only where it stands in the place of something.
  await sql`
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'value', c.company_id, k.calculator_id, h.field, h.reason, 'null'
    from staged_unrenewed_value h
    join staged_calculator k using (calculator_ordinal)
    join staged_company c using (company_ordinal)
    where h.field is not null and exists (
      select from value_difference d
      where d.kind = 'unrenewed' and d.calculator_key = k.calculator_key and d.direction = h.direction
    )`.execute(trx)
}

/**
 * Without inputs, or without outputs, a calculator is as the specification allows; all calculators of a page without
 * them are suspicious. So the two are judged apart, by calculators of the types that the search selected.
 */
async function withholdSuspicious(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  const selected = ofSelectedType(options.calculatorTypeIds)
  const { rows } = await sql<{ direction: 'i' | 'o'; seen: number; known: number }>`
    select direction, coalesce(given, 0) - added as seen, coalesce(given, 0) - added + absent as known
    from (
      select direction, count(*) filter (where kind = 'added' and ${selected}) as added,
        count(*) filter (where kind in ('removed', 'unrenewed') and ${selected}) as absent
      from value_difference join staged_calculator using (calculator_key)
      group by direction
      having count(*) filter (where kind = 'removed') > 0
    ) differing
    left join (
      select m.direction, count(*) as given
      from merge_value m join staged_calculator using (calculator_key)
      where ${selected} and not exists (select from fresh_calculator f where f.calculator_key = m.calculator_key)
      group by m.direction
    ) page using (direction)`.execute(trx)
  for (const { direction, seen, known } of rows) {
    const countMore = (limit: number) => countUnchangedValues(trx, direction, limit, options)
    const shown = { seen: Number(seen), known: Number(known) }
    if (!(await isSuspiciousWith(shown, options.minSeenShare, countMore))) continue
    await sql`
      update value_difference
      set kind = 'unrenewed', withheld = true, reason = case direction when 'i' then 'too_few_inputs'
        else 'too_few_outputs' end
      where kind = 'removed' and direction = ${direction}`.execute(trx)
  }
}

/** How many inputs or outputs, up to a limit, the page shows of companies that are as they were. */
export async function countUnchangedValues(
  trx: Transaction<Schema>,
  direction: 'i' | 'o',
  limit: number,
  { unchangedKeys, calculatorTypeIds }: UnrenewedOptions,
): Promise<number> {
  if (unchangedKeys.length === 0) return 0
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from (
      select from calculator_value v join calculator k using (company_key, calculator_key)
      where v.company_key = any(${unchangedKeys}::integer[]) and v.direction = ${direction}
        and ${ofSelectedType(calculatorTypeIds)}
      limit ${limit}
    ) counted`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}
