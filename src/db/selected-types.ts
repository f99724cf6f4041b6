import { type RawBuilder, sql } from 'kysely'

/** Whether a calculator is of a type that the search selected (its `calculatorTypeIds`); no types select all. */
export function ofSelectedType(calculatorTypeIds: readonly string[]): RawBuilder<boolean> {
  return sql`(cardinality(${calculatorTypeIds}::uuid[]) = 0 or type_id = any(${calculatorTypeIds}::uuid[]))`
}
