import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

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
 * companies that it has shown; where it is whole, also values and lists of property values that no page has given of a
 * company on several. What is withheld and a person has brought back, or a value of it, is marked as that: accepting
 * what is withheld leaves it.
 *
 * @param withheld whether the search is whole and shows suspiciously little; else it is not known what it would show.
 */
export async function markUnseen(
  trx: Transaction<Schema>,
  submissionId: number,
  reason: string,
  withheld: boolean,
): Promise<void> {
  const withCompany = (part: string) => sql`
    exists (select from gone_company g where g.company_key = ${sql.ref(`${part}.company_key`)})`
  await sql`
    insert into unrenewed_part
      (company_key, part, calculator_key, direction, variable_key, property_key, ordinal, reason, withheld,
        submission_id)
    select company_key, part, calculator_key, direction, variable_key, property_key, ordinal, why, ${withheld},
      ${submissionId}::bigint
    from (
      select company_key, 'company' as part, 0 as calculator_key, '-'::"char" as direction, 0 as variable_key,
        0 as property_key, 0 as ordinal, ${reason} as why
      from gone_company
      union all
      select company_key, 'calculator', calculator_key, '-', 0, 0, 0, ${reason}
      from gone_calculator k where not ${withCompany('k')}
      union all
      select company_key, 'value', calculator_key, direction, variable_key, 0, 0, ${reason}
      from gone_value where ${withheld}
      union all
      select company_key, 'property', 0, '-', 0, property_key, ordinal, ${reason}
      from gone_property p where ${withheld} and not ${withCompany('p')}
      union all
      select company_key, part, calculator_key, '-', 0, 0, 0, ${withheld ? sql`reason` : reason} from protected_part
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
 * brought them back or a value of theirs, or because another company shows a calculator that cannot be read: accepting
 * removals means them whole.
 */
export async function markProtected(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
    select company_key, part, calculator_key, reason, true, ${submissionId}::bigint from protected_part
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
    where u.part = 'company' and (u.submission_id <> ${submissionId} or z.given) and u.reason <> 'restored'
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

/**
 * The same of a page, which shows of its companies that are as they were all that is known.
 * @param unchanged what there is of companies, given what their keys have to equal; without a limit.
 */
export async function isSuspiciousPage(
  trx: Transaction<Schema>,
  shown: Shown,
  { minSeenShare, unchangedKeys }: UnrenewedOptions,
  unchanged: (keys: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<boolean> {
  return await isSuspiciousWith(shown, minSeenShare, async (limit) => {
    if (unchangedKeys.length === 0) return 0
    const { rows } = await sql<{ rows: number }>`
      select count(*) as rows
      from (${unchanged(sql`any(${unchangedKeys}::integer[])`)} limit ${limit}) counted`.execute(trx)
    return Number(rows[0]?.rows ?? 0)
  })
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
