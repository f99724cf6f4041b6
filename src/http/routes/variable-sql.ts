import type { VariableQuestion } from '../../db/values/variable-values.ts'

/** A statement for people to copy, which shows the values of one variable as the page does. Pure. */
export function variableSql({ variableId, direction, year, month }: VariableQuestion): string {
  return `select companies.partner_id, companies.name, value
from calculator_values join companies using (company_id)
where variable_id = ${quoted(variableId)} and direction = '${direction}'
  and period_year = ${year} and period_month is ${month === null ? 'null' : `not distinct from ${month}`}
order by value_numeric desc nulls last`
}

/** Nothing but a text, also in a client that reads backslashes. */
function quoted(text: string): string {
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}
