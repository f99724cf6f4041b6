import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { readableJson } from './show/readable.ts'

/** What a verb is given of the process it runs in; only main.ts reads it from the process. */
export type Cli = {
  environment: Readonly<Record<string, string | undefined>>
  workingFolder: string
  /** For what was asked for: reports, tables, JSON. */
  stdout: Writable & { isTTY?: boolean; columns?: number }
  /** For everything said on the way: progress, notices, errors. */
  stderr: Writable & { isTTY?: boolean; columns?: number }
  /** Aborted by SIGINT or SIGTERM, and by SIGHUP unless the verb listens to that. */
  signal: AbortSignal
  /** Calls the listener at each SIGHUP, which ends a verb that has none. Absent where there is no process. */
  onHangUp?: (listener: () => void) => void
  /**
   * Has the listener told of what Node.js warns of, instead of standard error; no one, where the process was started
   * without warnings. Absent where there is no process.
   */
  onWarning?: (listener: (warning: Error & { code?: string }) => void) => void
  /**
   * Told how the verb ends before what it opened is closed: an error is reported at once, and what has not closed in
   * the time of a stop is broken off. Absent where there is no process.
   */
  onEnding?: (outcome: { code: ExitCode } | { error: unknown }) => void
  now: () => Date
}

/** The options that every verb takes. */
export type CommonOptions = { config?: string; set?: string[]; json?: boolean }

/** Exit codes: part of the interface. */
export const exitCodes = { well: 0, failed: 1, usage: 2, partial: 3 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export function printLine(to: Writable, line = ''): void {
  to.write(`${line}\n`)
}

export function printJson(to: Writable, value: unknown): void {
  to.write(`${readableJson(JSON.stringify(value, null, 2))}\n`)
}

/** Ends when a signal to end comes. Holds the process up meanwhile: an abort signal alone would let it end. */
export async function untilInterrupted({ signal }: Cli): Promise<void> {
  const day = 86_400_000
  while (!signal.aborted) await delay(day, undefined, { signal }).catch(() => {})
}

/** The command line cannot be acted on: exit code 2. */
export class UsageError extends Error {
  readonly code = 'usage'
}

/** The version of this program, as its package says. */
export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}

/** A query that the server did not take. The code is PostgreSQL's (SQLSTATE). */
export class QueryFailed extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

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

/**
 * Writes a file that a person named.
 * @param options.flag `wx` refuses a file that is there.
 * @throws {UsageError} when it is there, or cannot be written, with the reason.
 */
export async function writeNewFile(
  file: string,
  content: string | Uint8Array,
  options: { flag: 'w' | 'wx'; mode?: number },
): Promise<void> {
  try {
    await writeFile(file, content, options)
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    if (code === 'EEXIST') {
      throw new UsageError(`${file} exists already: name another file, or overwrite it with --force`)
    }
    throw new UsageError(`${file} cannot be written: ${message}. Name another file with its option.`)
  }
}
