import { unknownCodeIn } from './unknown-code.ts'

/** A ledger row's content: every value as the partner's server printed it; absent means null. */
export type RowContent = Readonly<Record<string, unknown>>

/** A column's text, or null. */
export function text(content: RowContent, name: string): string | null {
  const value = Object.hasOwn(content, name) ? content[name] : null
  return typeof value === 'string' ? value : null
}

/** Whether a column holds more than white space. */
export function isGiven(content: RowContent, name: string): boolean {
  return (text(content, name) ?? '').trim() !== ''
}

/** A column's text, or null where it holds nothing but white space, as columns do that cannot be null. */
export function givenText(content: RowContent, name: string): string | null {
  return isGiven(content, name) ? text(content, name) : null
}

/** What a reason quotes of a value: enough to find it again. */
export function shown(value: string): string {
  return value.length > 60 ? `${value.slice(0, 60).toWellFormed()}…` : value
}

/** The texts of these columns that a row has, one after the other. */
export function partsOf(content: RowContent, columns: readonly string[]): string[] {
  return columns.map((name) => text(content, name)).filter((part) => part !== null)
}

/** An id and, where there is one, a value: `data point 4711 = 12`. */
export function idWords(content: RowContent, what: string, idColumn: string): string {
  const value = text(content, 'value')
  return `${what} ${text(content, idColumn) ?? '–'}${value === null ? '' : ` = ${value}`}`
}

/** Every column of a row with its value. */
export function allWords(content: RowContent): string {
  return Object.entries(content)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}

/** 2025 for a year as a whole, 2025-03 for a month, Yearly 2025-04 for a year that begins in April. */
export function periodWords(content: RowContent): string {
  const { year, month, period_type: type } = content as Record<string, string | undefined>
  if (month === undefined || (type === 'Yearly' && month === '1')) return year ?? '–'
  return `${type === 'Yearly' ? 'Yearly ' : ''}${year ?? '–'}-${month.padStart(2, '0')}`
}

/** A partner row: every column as the partner's server prints it, or null. */
export type PartnerRow = Record<string, string | null>

/** A ledger row as a stream's partner row describes it. */
export type LandingRow = { partnerId: string; rowKey: string; content: Record<string, unknown> }

/** Longer ones cannot be a key, and are invalid. Partners' ids are codes of a few characters. */
export const maxPartnerIdLength = 255

/** The form of an id of the service, with `0` for any hexadecimal digit. */
const idForm = Buffer.from('00000000-0000-0000-0000-000000000000')

/** What each character below 128 is in the form of an id. */
const inIdForm = Uint8Array.from({ length: 128 }, (_, code) => code)
for (const digit of Buffer.from('123456789abcdefABCDEF')) inIdForm[digit] = idForm[0] ?? 0

/** Whether a column holds an id of the service. A regular expression takes three times as long, several times a row. */
export function isId(text: string | null | undefined): boolean {
  if (text?.length !== idForm.length) return false
  for (let at = 0; at < idForm.length; at++) {
    if (inIdForm[text.charCodeAt(at)] !== idForm[at]) return false
  }
  return true
}

/** An omitted month of a yearly period means January (Framework answers upsert request). */
export function monthOf(row: PartnerRow): string | null {
  return row.month ?? (row.period_type === 'Yearly' ? '1' : null)
}

/** One text for several parts, whatever they contain: two lists of parts never make the same one. */
export function keyOf(...parts: (string | null | undefined)[]): string {
  return JSON.stringify(parts.map((part) => part ?? null))
}

/**
 * The columns of a row that have a value, but for the one that names the hotel. Absent and null are one thing here;
 * leaving nulls out keeps the content's hash from depending on which it was.
 */
export function present(columns: PartnerRow, idColumn = 'partner_id'): Record<string, string> {
  const known: Record<string, string> = {}
  for (const name in columns) {
    const value = columns[name] ?? null
    if (value !== null && name !== idColumn) known[name] = value
  }
  return known
}

/** The same of a row with a period, whose month may be left out. */
export function presentInPeriod(columns: PartnerRow): Record<string, string> {
  const month = monthOf(columns)
  // The month stays in its column's place: members in the same order as before are written fastest (`jsonbText`).
  return present(month === (columns.month ?? null) ? columns : { ...columns, month })
}

/**
 * Controls that no text has on purpose; tabulators and line ends are let through. Those from U+0080 to U+009F are left
 * by text that was read in the wrong encoding.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose.
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/ // oxlint-disable-line no-control-regex

/** What is wrong with the characters or the length of one of a row's texts, whatever it means; or null. */
export function checkTexts(content: RowContent, maxLength: number): string | null {
  for (const name in content) {
    const value = content[name]
    if (typeof value === 'string') {
      const problem = checkText(name, value, maxLength)
      if (problem !== null) return problem
    } else if (typeof value === 'object' && value !== null) {
      const problem = checkTexts(value as RowContent, maxLength)
      if (problem !== null) return problem
    }
  }
  return null
}

/** The same of one text, which the reason calls `name`. */
export function checkText(name: string, value: string, maxLength: number): string | null {
  if (value.length > maxLength) {
    return `${name} has ${value.length} characters; push.maxTextLength allows ${maxLength}, a limit of ours: the service states none`
  }
  const found = control.exec(value)
  if (found !== null) {
    const unknown = unknownCodeReason(name, value)
    if (unknown !== null) return unknown
    const code = found[0].charCodeAt(0)
    const why = code === 0 ? ', which can be neither stored nor sent' : code > 0x7f ? ': is its encoding right?' : ''
    return `${name} holds the control character ${codePoint(code)} at position ${found.index + 1}${why}`
  }
  if (!value.isWellFormed()) return `${name} holds half of a surrogate pair: it was cut in the middle of a character`
  return null
}

/** What is wrong with a text that stands for a code which no lookup knows; null where it is none. Pure. */
export function unknownCodeReason(name: string, text: string): string | null {
  const unknown = unknownCodeIn(text)
  return unknown === null ? null : `${name} '${shown(unknown.code)}'${unknown.why}`
}

function codePoint(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

/** Years that anybody reports on. Earlier and later ones are typing errors. */
const firstYear = 1900
const lastYear = 2100

/** The reporting period of an answer or omission (Framework answers upsert request). */
export function checkPeriod(content: RowContent): string | null {
  const periodType = text(content, 'period_type')
  if (periodType !== 'Yearly' && periodType !== 'Monthly') {
    return `period_type '${shown(periodType ?? '')}' is neither Yearly nor Monthly`
  }
  return checkYearAndMonth(content)
}

/** Year and month; of a Monthly period both are needed, and of other periods the year. */
export function checkYearAndMonth(content: RowContent): string | null {
  const year = text(content, 'year')
  const month = text(content, 'month')
  if (year === null || !/^\d{4}$/.test(year)) return `year '${shown(year ?? '')}' is no year of four digits`
  if (Number(year) < firstYear || Number(year) > lastYear) {
    return `year ${year} is not between ${firstYear} and ${lastYear}`
  }
  if (text(content, 'period_type') === 'Monthly' && month === null) return 'a Monthly period needs a month, 1 to 12'
  if (month !== null && !/^([1-9]|1[0-2])$/.test(month)) {
    return `month '${shown(month)}' is not between 1 and 12, written without a leading zero`
  }
  return null
}
