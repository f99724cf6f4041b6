import { isUuid } from '../../requests/read-json.ts'
import type { Queryable } from '../../running-sandbox.ts'

/** `inputs` and `outputs` as JSON text: a search carries millions of values, and none of them is looked at. */
export type FoundCalculator = {
  id: string
  companyId: string
  typeId: string
  year: number
  month: number | null
  inputs: string
  outputs: string
}

/** Calculators by company; `typeIds` empty: of every type. */
export async function readCalculators(
  db: Queryable,
  companyIds: readonly string[],
  typeIds: readonly string[],
): Promise<Map<string, FoundCalculator[]>> {
  const { rows } = await db.query<FoundCalculator>(
    `select id, company_id as "companyId", type_id as "typeId", year, month,
            (summed || inputs)::text as inputs, outputs::text as outputs
     from sandbox.calculator where company_id = any($1) and ($2 or type_id = any($3))
     order by company_id, type_id, year, month nulls first`,
    [companyIds, typeIds.length === 0, typeIds.filter(isUuid)],
  )
  return Map.groupBy(rows, ({ companyId }) => companyId)
}
