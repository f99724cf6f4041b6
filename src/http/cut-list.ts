/**
 * As many of a list as were asked for, and whether there are more: it was read with one beyond the limit. Pure.
 */
export function cutAt<T>(rows: readonly T[], limit: number): { rows: T[]; more: boolean } {
  return { rows: rows.slice(0, limit), more: rows.length > limit }
}
