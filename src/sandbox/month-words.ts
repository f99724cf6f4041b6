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
]

/** The name of a month, 1 to 12, as the service spells it. */
export function monthName(month: number): string {
  const name = names[month - 1]
  if (name === undefined) throw new RangeError(`month ${month} is not between 1 and 12`)
  return name
}

/** 1 to 12 for the name of a month in any case; null for anything else. */
export function monthNumber(name: string): number | null {
  const at = names.findIndex((known) => known.toLowerCase() === name.toLowerCase())
  return at < 0 ? null : at + 1
}
