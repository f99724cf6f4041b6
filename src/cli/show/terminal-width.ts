import type { Cli } from '../cli.ts'

/**
 * Columns of a terminal, which tables have to fit; a pipe or a file takes lines of any length, and nothing is broken
 * there.
 */
export function widthOf({ stdout }: Pick<Cli, 'stdout'>): number {
  return stdout.isTTY === true ? (stdout.columns ?? 80) : Number.POSITIVE_INFINITY
}

/** Asked for each table, because people change the size of a terminal. */
let terminalWidth: () => number = () => Number.POSITIVE_INFINITY

/**
 * Says how wide tables may be from now on; the program says it once, so that what renders needs to know no terminal.
 */
export function fitTables(width: () => number): void {
  terminalWidth = width
}

/** Columns that a table has now. */
export function tableWidth(): number {
  return terminalWidth()
}
