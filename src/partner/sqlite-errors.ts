import type { ErrorKinds } from './partner-errors.ts'

/** Busy, locked, out of memory, not to be read, malformed, full, not to be opened, locked oddly, no database. */
const fileTrouble = new Set([5, 6, 7, 10, 11, 13, 14, 15, 26])

/** How the errors of SQLite are told apart. It has no statement time-out. */
export const sqliteErrors: ErrorKinds = {
  // The lower byte of a result code is its kind.
  isLost: (error) => fileTrouble.has(((error as { errcode?: number }).errcode ?? 0) & 0xff),
  isTooSlow: () => false,
}
