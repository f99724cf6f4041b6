const monthNames: readonly unknown[] = [
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
  const index = monthNames.indexOf(name)
  return index < 0 ? undefined : index + 1
}
