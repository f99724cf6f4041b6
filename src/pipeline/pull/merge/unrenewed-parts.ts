import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** What a mark of a value says besides its key, in a statement that finds the mark there already. `since` stays. */
export const markAgain = sql`
  on conflict (company_key, part, calculator_key, direction, variable_key, property_key, ordinal) do update
  set reason = excluded.reason, withheld = excluded.withheld, submission_id = excluded.submission_id`

/** Whether anything stands that was not renewed. Mostly nothing does, and then nothing has to be looked for. */
export async function someUnrenewed(trx: Transaction<Schema>): Promise<boolean> {
  const { rows } = await sql<{ some: boolean }>`select exists (select from unrenewed_part) as some`.execute(trx)
  return rows[0]?.some === true
}

/**
 * Marks companies, calculators, company names and titles of the page that stand as they did because the page gives
 * nothing of them that can be read, and takes the mark off those that it renews. After the merge of the rest.
 */
export async function markWholeParts(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into unrenewed_part (company_key, part, reason, withheld, submission_id)
    select c.company_key, 'company', s.name_problem, false, ${submissionId}::bigint
    from staged_company s join company c using (company_key)
    where not s.readable and c.removed_at is null
    union all
    select c.company_key, 'company_name', s.name_problem, false, ${submissionId}::bigint
    from staged_company s join company c using (company_key)
    where s.readable and s.name is null and c.name is not null
    ${markAgain}`.execute(trx)
  await sql`
    insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
    select k.company_key, 'calculator', k.calculator_key, unread.reason, false, ${submissionId}::bigint
    from staged_calculator s
    join staged_company c using (company_ordinal)
    join calculator k using (calculator_key, company_key)
    join (
      select calculator_id, min(reason) as reason from staged_left_out
      where unit = 'calculator' and reason <> 'calculator_twice'
      group by calculator_id
    ) unread on unread.calculator_id = s.calculator_id
    where not s.readable and k.removed_at is null
    union all
    select k.company_key, 'calculator_title', k.calculator_key, s.title_problem, false, ${submissionId}::bigint
    from staged_calculator s join calculator k using (calculator_key)
    where s.readable and s.title is null and k.title is not null
    ${markAgain}`.execute(trx)
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
 * companies that it has shown.
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
    insert into unrenewed_part (company_key, part, reason, withheld, submission_id)
    select company_key, 'company', ${reason}, ${withheld}, ${submissionId}::bigint from gone_company
    ${markAgain}
    where unrenewed_part.reason <> 'restored'`.execute(trx)
  await sql`
    insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
    select company_key, 'calculator', calculator_key, ${reason}, ${withheld}, ${submissionId}::bigint
    from gone_calculator where company_key not in (select company_key from gone_company)
    ${markAgain}
    where unrenewed_part.reason <> 'restored'`.execute(trx)
  // What is known of such a company is not just what its bytes say: it has to be read again.
  await sql`
    update company set content_hash = null
    where content_hash is not null and company_key in (
      select company_key from gone_calculator except select company_key from gone_company
    )`.execute(trx)
}

/** Takes the mark off companies that the search has shown again, as they were, and off what does not stand any more. */
export async function settleMarks(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  if (!(await someUnrenewed(trx))) return
  await sql`
    delete from unrenewed_part u using search_seen_company z
    where u.part = 'company' and u.submission_id <> ${submissionId}
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
