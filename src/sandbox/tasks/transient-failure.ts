import pg from 'pg'

/**
 * SQLSTATE classes and codes of trouble that passes: connections, resources, restarts, conflicts between transactions.
 */
const transientStates = /^(08|53|57P|40|55P03|57014)/

/** pg reports a lost connection as a plain Error without a code, so its wording is all there is to tell it by. */
const lostConnection = /connection terminated|connection error|timeout exceeded|client was closed/i

/** Whether processing may succeed when it is tried again; everything else is a fault of the program or of the data. */
export function isTransient(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return transientStates.test(error.code ?? '')
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string') return /^E[A-Z]+$/.test(error.code)
  return lostConnection.test(error.message)
}
