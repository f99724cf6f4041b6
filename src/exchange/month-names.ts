const names = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

type MonthName = (typeof names)[number]

/** The name to write for a month from 1 to 12. @throws {RangeError} for any other number. */
export function monthName(month: number): MonthName {
  const name = names[month - 1]
  if (name === undefined) throw new RangeError(`month ${month} is not between 1 and 12`)
  return name
}

/** The month from 1 to 12 that a name means, in any case; undefined when it names none. Abbreviations name none. */
export function monthNumber(name: string): number | undefined {
  const index = names.findIndex((known) => known.toLowerCase() === name.toLowerCase())
  return index === -1 ? undefined : index + 1
}
