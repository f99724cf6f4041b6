import { isDate } from './rules/answer-value.ts'
import { checkId } from './rules/reference-index.ts'
import { isGiven, keyOf, partsOf, present, type RowContent, shown, text } from './rules/row-content.ts'
import { columnWords, type Stream } from './stream.ts'

/** Specification: Standard holders upsert request. */
export const standardHolders: Stream = {
  about: 'One row per certification or commitment of a hotel.',
  columns: {
    partner_id: columnWords.partner_id,
    standard_id: 'Id of the standard that the hotel holds.',
    level: 'The level at which it holds the standard.',
    start_date: 'The day from which it holds the standard.',
    expiry_date: 'The day on which this ends.',
  },
  notes: ["Nightferry sends dates as your query prints them; `to_char(…, 'YYYY-MM-DD')` is safe."],
  table: { all: ['partner_id', 'standard_id'], telling: ['standard_id', 'expiry_date', 'level'] },
  kind: 'standard_holders',
  toRow: (holder, partnerId) => ({
    partnerId,
    rowKey: keyOf(partnerId, holder.standard_id),
    content: present(holder),
  }),
  check: checkHolder,
  words: (content) => partsOf(content, ['standard_id', 'level', 'start_date', 'expiry_date']).join(' '),
}

/** Which standards and levels there are, only the service knows. */
function checkHolder(content: RowContent): string | null {
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
