import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { stoodBefore, ofSelectedType } from './known-companies.ts'
import { keepRemovedProperties, keepRemovedValues, recordChanges } from './value-history.ts'

/**
 * What is known of a search when its end is judged. Known means not tombstoned, of the types that it selected, and here
 * before the search: what it brought for the first time, or back, says nothing about how much of the rest it has shown.
 */
export type SearchEvidence = {
  /** It was ended before: that stands with it, or its pages had companies and what they showed was forgotten. */
  finished: boolean
  pages: number
  pagesNotLoaded: number
  /** Pages of which only their place in a list said which they are: one may have been loaded for another. */
  pagesGuessed: number
  /** Companies on its pages that could not be told from others: any that seems absent might be one of them. */
  unidentifiedCompanies: number
  knownCompanies: number
  seenCompanies: number
  knownCalculators: number
  seenCalculators: number
}

/**
 * Counts what speaks for and against absence, with the pages locked: two that end a search come one after the other.
 */
export async function gatherEvidence(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<SearchEvidence> {
  const pages = await trx
    .selectFrom('search_page')
    .select(['page_id', 'state', 'companies', 'guessed'])
    .where('submission_id', '=', submissionId)
    .orderBy('page_id')
    .forNoKeyUpdate()
    .execute()
  const before = sql<boolean>`removed_at is null and ${stoodBefore(submissionId)}`
  const { rows } = await sql<
    Record<'known' | 'seen' | 'shown' | 'known_calculators' | 'seen_calculators' | 'nameless', number> & {
      ended: boolean
    }
  >`
    select
      (select search_result is not null from submission where submission_id = ${submissionId}) as ended,
      (select count(*) from company where ${before}) as known,
      (
        select count(*) from search_seen_company join company using (company_key)
        where submission_id = ${submissionId} and ${before}
      ) as seen,
      (select count(*) from search_seen_company where submission_id = ${submissionId}) as shown,
      (select count(*) from calculator where ${before} and ${ofSelectedType(calculatorTypeIds)}) as known_calculators,
      (
        select count(*) from calculator k
        where ${before} and ${ofSelectedType(calculatorTypeIds)} and ${seen(submissionId)}
      ) as seen_calculators,
      (
        select count(*) from quarantine join search_page using (page_id)
        where submission_id = ${submissionId} and unit = 'company' and company_id is null
      ) as nameless`.execute(trx)
  const counted = rows[0]
  return {
    finished:
      counted?.ended === true || (Number(counted?.shown ?? 0) === 0 && pages.some((page) => page.companies > 0)),
    pages: pages.length,
    pagesNotLoaded: pages.filter((page) => page.state !== 'loaded').length,
    pagesGuessed: pages.filter((page) => page.guessed).length,
    unidentifiedCompanies: Number(counted?.nameless ?? 0),
    knownCompanies: Number(counted?.known ?? 0),
    seenCompanies: Number(counted?.seen ?? 0),
    knownCalculators: Number(counted?.known_calculators ?? 0),
    seenCalculators: Number(counted?.seen_calculators ?? 0),
  }
}

/**
 * Lays out, as gone_company, gone_calculator, gone_value and gone_property, what stands and the search has not seen.
 * What a person has brought back, or holds a value that a person has brought back, is not among it but in
 * protected_part; so is a company of which another one shows a calculator that cannot be read: that is not absent, and
 * its values stand with its company. Calculators of which a page has withheld the removal are in neither. The property
 * values are those of such companies, and the lists of companies on several pages that none of these has given. The
 * values are those that none of them has given of calculators that one has: others go with their calculator.
 */
export async function layOutUnseen(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    create temporary table unseen_company on commit drop as
    select company_key, company_id, case
      when exists (select from unrenewed_part u where u.company_key = c.company_key and u.reason = 'restored')
      then 'restored'
      else (
        select min(u.reason) from unrenewed_part u
        where u.company_key = c.company_key and u.part = 'calculator' and u.submission_id = ${submissionId}
      ) end as stays_for
    from company c
    where removed_at is null and not exists (
      select from search_seen_company z where z.submission_id = ${submissionId} and z.company_key = c.company_key
    )`.execute(trx)
  await sql`
    create temporary table gone_company on commit drop as
    select company_key, company_id from unseen_company where stays_for is null`.execute(trx)
  // Joined by key: `in` beside `or` would look through the list for each calculator once it is too long to be hashed.
  await sql`analyze unseen_company`.execute(trx)
  const gone = sql`c.company_key is not null`
  await sql`
    create temporary table unseen_calculator on commit drop as
    select k.calculator_key, k.calculator_id, k.company_key, not (${gone}) and exists (
        select from unrenewed_part u
        where u.company_key = k.company_key and u.calculator_key = k.calculator_key and u.reason = 'restored'
      ) as protected
    from calculator k left join unseen_company c on c.company_key = k.company_key
    where k.removed_at is null and c.stays_for is null
      and (${ofSelectedType(calculatorTypeIds)} or ${gone})
      and not ${seen(submissionId)}
      and (
        ${gone}
        or not exists (
          select from unrenewed_part u
          where u.company_key = k.company_key and u.part = 'calculator' and u.calculator_key = k.calculator_key
            and u.reason <> 'restored' and u.submission_id = ${submissionId}
        )
      )`.execute(trx)
  await sql`
    create temporary table gone_calculator on commit drop as
    select calculator_key, calculator_id, company_key from unseen_calculator where not protected`.execute(trx)
  await sql`
    create temporary table protected_part on commit drop as
    select company_key, 'company' as part, 0 as calculator_key, stays_for as reason
    from unseen_company where stays_for is not null
    union all
    select company_key, 'calculator', calculator_key, 'restored' from unseen_calculator where protected`.execute(trx)
  await sql`
    create temporary table gone_property on commit drop as
    select company_key, property_key, ordinal from gone_company join company_property using (company_key)
    union
    select company_key, property_key, ordinal
    from unrenewed_part join company_property using (company_key, property_key, ordinal)
    where part = 'property' and reason = 'on_many_pages' and submission_id = ${submissionId}`.execute(trx)
  await sql`
    create temporary table gone_value on commit drop as
    select company_key, calculator_key, direction, variable_key
    from unrenewed_part u join calculator_value using (company_key, calculator_key, direction, variable_key)
    where part = 'value' and reason = 'on_many_pages' and submission_id = ${submissionId}
      and not exists (select from gone_calculator g where g.calculator_key = u.calculator_key)`.execute(trx)
  await sql`analyze gone_company, gone_calculator, gone_value, gone_property`.execute(trx)
}

/**
 * How much of what stood before the search would go with the companies, calculators, values and lists of property
 * values that were laid out as unseen.
 */
export type Loss = {
  reason: 'too_few_inputs' | 'too_few_outputs' | 'too_few_properties'
  gone: number
  /** How many there are, counted up to a limit. */
  count: (limit: number) => Promise<number>
}

/** What would go of inputs, outputs and property values; nothing is counted of what would not go. */
export async function losses(trx: Transaction<Schema>, submissionId: number): Promise<Loss[]> {
  const { rows } = await sql<{ direction: 'i' | 'o'; gone: number }>`
    select direction, count(*) as gone
    from (
      select direction from gone_calculator join calculator_value using (company_key, calculator_key)
      union all
      select direction from gone_value
    ) gone
    group by direction order by direction`.execute(trx)
  const { rows: properties } = await sql<{ gone: number }>`
    select count(*) as gone from gone_property`.execute(trx)
  const before = stoodBefore(submissionId)
  const counted = async (query: ReturnType<typeof sql>) => {
    const { rows: found } = await sql<{ rows: number }>`select count(*) as rows from (${query}) counted`.execute(trx)
    return Number(found[0]?.rows ?? 0)
  }
  const values = rows.map<Loss>(({ direction, gone }) => ({
    reason: direction === 'i' ? 'too_few_inputs' : 'too_few_outputs',
    gone: Number(gone),
    count: (limit) =>
      counted(sql`
        select from calculator_value join calculator using (company_key, calculator_key)
        where direction = ${direction} and ${before} limit ${limit}`),
  }))
  const goneProperties = Number(properties[0]?.gone ?? 0)
  if (goneProperties === 0) return values
  return [
    ...values,
    {
      reason: 'too_few_properties',
      gone: goneProperties,
      count: (limit) =>
        counted(sql`select from company_property join company using (company_key) where ${before} limit ${limit}`),
    },
  ]
}

/**
 * Tombstones what was laid out as unseen, with its values and properties, which can be brought back. Locks as
 * `claimCompanies` says: in id order.
 * @returns how many; of values, those that went from calculators which stand.
 */
export async function tombstoneUnseen(
  trx: Transaction<Schema>,
  submissionId: number,
): Promise<{ companies: number; calculators: number; values: number }> {
  await sql`
    select count(*) from (
      select from company
      where company_key in (
        select company_key from gone_company
        union select company_key from gone_calculator
        union select company_key from gone_value
        union select company_key from gone_property
      )
      order by company_id for no key update
    ) locked`.execute(trx)
  await sql`
    select count(*) from (
      select from calculator
      where calculator_key in (
        select calculator_key from gone_calculator
        union select calculator_key from gone_value
      )
      order by calculator_id for no key update
    ) locked`.execute(trx)

  const calculators = await sql`
    update calculator k set removed_at = statement_timestamp(), changed_at = statement_timestamp()
    from gone_calculator g where g.calculator_key = k.calculator_key and k.removed_at is null`.execute(trx)
  await sql`
    update calculator k set changed_at = statement_timestamp()
    where calculator_key in (select calculator_key from gone_value)`.execute(trx)
  const unseen = [
    sql`gone_calculator g where v.company_key = g.company_key and v.calculator_key = g.calculator_key`,
    sql`gone_value g where v.company_key = g.company_key and v.calculator_key = g.calculator_key
      and v.direction = g.direction and v.variable_key = g.variable_key`,
  ]
  for (const values of unseen) {
    await sql`
      with removed as (
        delete from calculator_value v using ${values}
        returning v.company_key, v.calculator_key, v.direction, v.variable_key, v.value as before, null::text as after
      ), kept as (${keepRemovedValues('removed', submissionId)})
      ${recordChanges('removed', submissionId)}`.execute(trx)
  }
  await sql`
    with removed as (
      delete from company_property p using gone_property g
      where p.company_key = g.company_key and p.property_key = g.property_key and p.ordinal = g.ordinal
      returning p.*
    )
    ${keepRemovedProperties('removed', submissionId)}`.execute(trx)
  const companies = await sql`
    update company c set removed_at = statement_timestamp(), changed_at = statement_timestamp(), content_hash = null
    from gone_company g where g.company_key = c.company_key and c.removed_at is null`.execute(trx)
  await sql`
    update company c set changed_at = statement_timestamp(), content_hash = null
    where company_key in (
        select company_key from gone_calculator
        union select company_key from gone_value
        union select company_key from gone_property
      )
      and not exists (select from gone_company g where g.company_key = c.company_key)`.execute(trx)
  const { rows: values } = await sql<{ gone: number }>`select count(*) as gone from gone_value`.execute(trx)
  return {
    companies: Number(companies.numAffectedRows ?? 0),
    calculators: Number(calculators.numAffectedRows ?? 0),
    values: Number(values[0]?.gone ?? 0),
  }
}

/**
 * Forgets what the search has shown, but for which companies were on several of its pages, and the lists of names to
 * which no company refers any more. The lock on loading must be taken exclusively.
 * @param proving whether the search proves what is absent: no other shows that a company is not on several pages any
 * more.
 */
export async function forgetSeen(trx: Transaction<Schema>, submissionId: number, proving: boolean): Promise<void> {
  await sql`
    update company c set on_many_pages = z.pages > 1
    from search_seen_company z
    where z.submission_id = ${submissionId} and z.company_key = c.company_key
      and c.on_many_pages <> (z.pages > 1) and (z.pages > 1 or ${proving})`.execute(trx)
  await sql`
    delete from page_listing l
    where not exists (select from company c where c.listing_key = l.listing_key)`.execute(trx)
  await trx.deleteFrom('search_seen_calculator').where('submission_id', '=', submissionId).execute()
  await trx.deleteFrom('search_seen_company').where('submission_id', '=', submissionId).execute()
}

/** Whether the search has shown the calculator `k`: with all of its company, or by itself. */
function seen(submissionId: number) {
  return sql<boolean>`(
    exists (
      select from search_seen_company z
      where z.submission_id = ${submissionId} and z.company_key = k.company_key and z.whole
    )
    or exists (
      select from search_seen_calculator z
      where z.submission_id = ${submissionId} and z.calculator_key = k.calculator_key
    )
  )`
}
