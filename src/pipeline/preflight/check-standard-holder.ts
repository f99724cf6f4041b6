import { isDate } from './answer-value.ts'
import { checkId } from './known-id.ts'
import { isGiven, type RowContent, shown, text } from './row-content.ts'

/** What is wrong with a certification or commitment, or null. Which standards and levels there are, only the service knows. */
export function checkStandardHolder(content: RowContent): string | null {
  const malformed = checkId(content, 'standard_id')
  if (malformed !== null) return malformed
  if (text(content, 'level') !== null && !isGiven(content, 'level')) return 'level is blank: where there is none, null'
  for (const name of ['start_date', 'expiry_date']) {
    const date = text(content, name)
    if (date !== null && !isDate(date)) return `${name} '${shown(date)}' is no date: YYYY-MM-DD is expected${day(date)}`
  }
  const [start, expiry] = [text(content, 'start_date'), text(content, 'expiry_date')]
  return start !== null && expiry !== null && expiry < start
    ? `expiry_date ${expiry} is before start_date ${start}`
    : null
}

/** The day of a time, which is what databases print when a date column is one. */
function day(text: string): string {
  const [date = ''] = text.split(/[ T]/)
  return date !== text && isDate(date) ? `, as in ${date}` : ''
}
