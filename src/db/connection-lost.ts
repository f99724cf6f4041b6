const sqlState = /^[0-9A-Z]{5}$/

/**
 * Whether a query failed because its connection was lost or could not be had, so that another attempt may do better.
 * The driver gives such errors a code of the system, or none; the server says it with class 08, or 57 when it ends a
 * session.
 */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError) return false
  const { code } = error as { code?: unknown }
  return typeof code !== 'string' || !sqlState.test(code) || /^(08|57)/.test(code)
}
