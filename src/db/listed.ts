/** Some of the rows that there are, and how many more. */
export type Listed<T> = { rows: T[]; more: number }

/** Rows of a statement with a limit, each with `found`: how many there are without it. Pure. */
export function listed<T extends { found: number }>(rows: readonly T[]): Listed<Omit<T, 'found'>> {
  const all = rows[0]?.found ?? 0
  return { rows: rows.map(({ found: _, ...row }) => row), more: all - rows.length }
}
