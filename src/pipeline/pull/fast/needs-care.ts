import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { seenBy } from '../merge/known-companies.ts'
import { listedProperties, listedVariables } from '../merge/name-spelling.ts'

/**
 * Something on a page that the fast way does not do: it is loaded again with care, alone and every row compared.
 * The message is a stable code, kept with the page.
 */
export class NeedsCare extends Error {}

/**
 * SQLSTATEs of two pages, or one page twice, that wrote the same: a unique violation and a deadlock. A statement that
 * runs beside others may fail before anyone asks for it, and the next one then says only that one before it has.
 */
const contention: Record<string, string> = {
  '23505': 'same_rows_twice',
  '40P01': 'deadlock',
  '25P02': 'earlier_statement_failed',
}

/** Why a page whose fast load failed is to be loaded with care; undefined if care would not help. */
export function reasonForCare(error: unknown): string | undefined {
  if (error instanceof NeedsCare) return error.message
  return contention[String((error as { code?: unknown }).code)]
}

/**
 * What is staged and concerns more than the companies of this page, or one of them twice; undefined if nothing.
 * Such a page is loaded with care. The answer is a stable code, kept with the page.
 */
export async function findTrouble(trx: Transaction<Schema>, submissionId: number): Promise<string | undefined> {
  const { rows } = await sql<{ trouble: string }>`
    select 'company_twice' as trouble where exists (
      select from staged_company group by company_id having count(*) > 1
    )
    union all
    select 'company_on_many_pages' where exists (
      select from staged_company s join company c using (company_id)
      where c.on_many_pages or ${seenBy(submissionId, sql`c.company_key`)}
    )
    union all
    select 'calculator_twice' where exists (
      select from staged_calculator group by calculator_id having count(*) > 1
    )
    union all
    select 'calculator_of_other_company' where exists (
      select from staged_calculator s
      join calculator k using (calculator_id)
      join staged_company owner using (company_ordinal)
      left join company c on c.company_id = owner.company_id
      where k.company_key is distinct from c.company_key
    )
    limit 1`.execute(trx)
  return rows[0]?.trouble
}

/**
 * Whether no merged company is on another page of the search that was loaded while this one was: `findTrouble` could
 * not see that page yet, and what it holds may have been removed. To be asked when the merge has marked what it has
 * seen.
 */
export async function checkShownOnce(trx: Transaction<Schema>): Promise<boolean> {
  const { rows } = await sql<{ again: boolean }>`
    select exists (select from staged_company where seen_pages > 1) as again`.execute(trx)
  return rows[0]?.again === false
}

type ReferredNames = { variables: readonly number[]; properties: readonly number[] }

/**
 * Whether the page lists every name that its companies refer to: those that were written straight into the tables by
 * what they `referred` to; the unchanged ones by what was listed when they were read, and, where that is listed no
 * longer, by their rows.
 */
export async function checkListed(
  trx: Transaction<Schema>,
  referred: ReferredNames,
  unchanged: ReadonlyMap<number, readonly number[]>,
): Promise<boolean> {
  const { rows } = await sql<{ missing: boolean }>`
    ${withListedNames}
    select exists (
      select key from unnest(${referred.variables}::integer[]) as key
      except select key from listed_name where of = 'v'
    ) or exists (
      select key from unnest(${referred.properties}::integer[]) as key
      except select key from listed_name where of = 'p'
    ) as missing`.execute(trx)
  if (rows[0]?.missing !== false) return false

  if (unchanged.size === 0) return true
  const { rows: narrower } = await sql<{ listing_key: number; variable_keys: number[]; property_keys: number[] }>`
    ${withListedNames}
    select listing_key, gone.variable_keys, gone.property_keys
    from page_listing, lateral (
      select array(select unnest(variable_keys) except select key from listed_name where of = 'v') as variable_keys,
             array(select unnest(property_keys) except select key from listed_name where of = 'p') as property_keys
    ) gone
    where listing_key = any(${[...unchanged.keys()]}::integer[])
      and (cardinality(gone.variable_keys) > 0 or cardinality(gone.property_keys) > 0)`.execute(trx)
  for (const { listing_key, variable_keys, property_keys } of narrower) {
    const companyKeys = unchanged.get(listing_key) ?? []
    const { rows: used } = await sql<{ used: boolean }>`
      select exists (
        select from calculator_value
        where company_key = any(${companyKeys}::integer[]) and variable_key = any(${variable_keys}::integer[])
      ) or exists (
        select from company_property
        where company_key = any(${companyKeys}::integer[]) and property_key = any(${property_keys}::integer[])
      ) as used`.execute(trx)
    if (used[0]?.used !== false) return false
  }
  return true
}

/** The keys of the names that the page lists. */
const withListedNames = sql`
  with listed_name as materialized (
    select 'v' as of, variable_key as key from (${listedVariables}) variable
    union all
    select 'p', property_key from (${listedProperties}) property
  )`
