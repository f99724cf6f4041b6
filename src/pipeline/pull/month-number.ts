const monthNames = [
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

/** 1 to 12 for an English month name, spelt as the service spells it; undefined for anything else. */
export function monthNumber(name: unknown): number | undefined {
  const index = monthNames.findIndex((month) => month === name)
  return index < 0 ? undefined : index + 1
}
