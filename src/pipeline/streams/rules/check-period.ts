import { type RowContent, shown, text } from './row-content.ts'

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
