import type { QuarantineUnit } from '../../../db/tables/calculator-tables.ts'

/** One thing that was left out of a page because its content cannot be right. */
export type LeftOut = {
  unit: QuarantineUnit
  companyId: string | null
  calculatorId: string | null
  /** The field, the variable id or the property id that holds it. */
  item: string | null
  /** A stable code. */
  reason: string
  excerpt: string
}
