import type { ErrorKinds } from './partner-errors.ts'

/** Busy, locked, not to be read, malformed, not to be opened, locked oddly, no database. */
const fileTrouble = new Set([5, 6, 10, 11, 14, 15, 26])

/** Out of memory, and a disk that the statement filled with what it sorts: another attempt would fill it again. */
const usedUp = new Set([7, 13])

/** How the errors of SQLite are told apart. It has no statement time-out. */
export const sqliteErrors: ErrorKinds = {
  isLost: (error) => fileTrouble.has(kindOf(error)),
  isTooSlow: () => false,
  otherwise: (error) => (usedUp.has(kindOf(error)) ? 'give this machine more space or memory' : null),
}

/** The lower byte of a result code. */
function kindOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff
}
