import { type Cli, printLine } from '../cli.ts'

/** How a verb prints a list. */
type Form = { limit: number; json?: boolean; csv?: boolean }

/**
 * As many of a list as were asked for, which was read with one row beyond the limit. Beside JSON and CSV it says on
 * standard error that it was cut: neither has a place for that.
 * @param noun what its rows are, of a verb that has several lists.
 * @returns with `cut` what stands under a table; null where everything is shown.
 */
export function cutList<T>(
  cli: Cli,
  { limit, json, csv }: Form,
  rows: readonly T[],
  noun?: string,
): { rows: T[]; cut: string | null } {
  if (rows.length <= limit) return { rows: [...rows], cut: null }
  const cut = `The newest ${limit}${noun === undefined ? '' : ` ${noun}`}; --limit shows more.`
  if (json || csv) printLine(cli.stderr, cut)
  return { rows: rows.slice(0, limit), cut }
}
