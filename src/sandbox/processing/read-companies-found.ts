import { isUuid } from '../requests/read-json.ts'
import type { Queryable } from '../sandbox.ts'
import type { Values } from './compute-outputs.ts'

export type FoundCompany = { id: string; number: number; name: string }
export type FoundCalculator = {
  id: string
  companyId: string
  typeId: string
  year: number
  month: number | null
  inputs: Values
  outputs: Values
}

/** The next companies in the groups, in the order of their numbers. */
export async function readCompaniesAfter(
  db: Queryable,
  groupIds: readonly string[],
  after: number,
  limit: number,
): Promise<FoundCompany[]> {
  const { rows } = await db.query<FoundCompany>(
    `select id, number, name from sandbox.company
     where number > $2 and exists (
       select from sandbox.group_company where group_id = any($1) and company_id = company.id)
     order by number limit $3`,
    [groupIds, after, limit],
  )
  return rows
}

/** Values by company and property. */
export async function readPropertiesOf(
  db: Queryable,
  companyIds: readonly string[],
  propertyIds: readonly string[],
): Promise<Map<string, Map<string, string[]>>> {
  const found = new Map<string, Map<string, string[]>>()
  if (propertyIds.length === 0) return found
  const { rows } = await db.query<{ company_id: string; property_id: string; values: string[] }>(
    `select company_id, property_id, array_agg(value order by value collate "C") as values
     from sandbox.identifier where company_id = any($1) and property_id = any($2) group by 1, 2
     union all
     select company_id, property_id, array_agg(value order by ordinal)
     from sandbox.property_value where company_id = any($1) and property_id = any($2) group by 1, 2`,
    [companyIds, propertyIds],
  )
  for (const row of rows) {
    const fields = found.get(row.company_id) ?? new Map<string, string[]>()
    found.set(row.company_id, fields.set(row.property_id, row.values))
  }
  return found
}

/** Calculators by company; `typeIds` empty: of every type. */
export async function readCalculatorsOf(
  db: Queryable,
  companyIds: readonly string[],
  typeIds: readonly string[],
): Promise<Map<string, FoundCalculator[]>> {
  const found = new Map<string, FoundCalculator[]>()
  const { rows } = await db.query<FoundCalculator>(
    `select id, company_id as "companyId", type_id as "typeId", year, month, summed || inputs as inputs, outputs
     from sandbox.calculator where company_id = any($1) and ($2 or type_id = any($3))
     order by company_id, type_id, year, month nulls first`,
    [companyIds, typeIds.length === 0, typeIds.filter(isUuid)],
  )
  for (const row of rows) {
    const own = found.get(row.companyId)
    if (own) own.push(row)
    else found.set(row.companyId, [row])
  }
  return found
}
