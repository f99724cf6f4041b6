/** One value that differs; absent means null. */
export type Difference = { field: string; from: string | null; to: string | null }

type Content = Readonly<Record<string, unknown>>

/** What differs between two contents of a row, value by value; what is nested is named by its path. Pure. */
export function contentDifference(from: Content, to: Content): Difference[] {
  const [before, after] = [flat(from), flat(to)]
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((field) => ({ field, from: before.get(field) ?? null, to: after.get(field) ?? null }))
    .filter((value) => value.from !== value.to)
}

/** A difference as a person reads it: name: 'Old' → 'New'. */
export function differenceWords({ field, from, to }: Difference): string {
  return `${field}: ${quoted(from)} → ${quoted(to)}`
}

function quoted(value: string | null): string {
  return value === null ? 'none' : `'${value}'`
}

function flat(content: Content, prefix = ''): Map<string, string> {
  return new Map(
    Object.entries(content).flatMap(([name, value]): [string, string][] => {
      if (value === null || value === undefined) return []
      if (typeof value === 'object') return [...flat(value as Content, `${prefix}${name}.`)]
      return [[`${prefix}${name}`, typeof value === 'string' ? value : JSON.stringify(value)]]
    }),
  )
}
