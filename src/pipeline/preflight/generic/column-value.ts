import type { ColumnPlaceholder } from '../../../exchange/body-template.ts'
import { exactNumber } from '../../streams/rules/answer-value.ts'
import { readExactJson } from './exact-json.ts'

/** What a placeholder puts into the body; `undefined`: nothing, the member is left out. */
type ColumnValue = { value: unknown } | { problem: string }

/**
 * A column's text as the template wants it, or what is wrong with it. Pure.
 *
 * Nothing is altered on the way: a number that a double cannot hold is a problem, not another number.
 */
export function columnValue({ column, as, optional }: ColumnPlaceholder, text: string | null): ColumnValue {
  if (text === null) return optional ? { value: undefined } : { problem: `${column} is empty` }
  const converted = convert(as, text)
  return 'problem' in converted ? { problem: `${column} ${converted.problem}` } : converted
}

function convert(as: ColumnPlaceholder['as'], text: string): ColumnValue {
  switch (as) {
    case 'text':
      return { value: text }
    case 'number': {
      const exact = exactNumber(text)
      return 'problem' in exact ? exact : { value: exact.number }
    }
    case 'boolean':
      if (text === 'true' || text === 'false') return { value: text === 'true' }
      return { problem: `'${text.slice(0, 60)}' is no boolean: true or false is expected` }
    case 'json':
      return readExactJson(text)
    default:
      return as satisfies never
  }
}
