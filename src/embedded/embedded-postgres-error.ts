import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * How much of the end of a server log is read for a message: enough for a start that failed, small enough for a
 * terminal.
 */
const tailBytes = 8_192

/**
 * The embedded PostgreSQL could not be prepared, started, joined or stopped. The message says what was tried, where,
 * what the server's log ends with and what to do. A server of one's own (`DATABASE_URL`) is always the way round it.
 */
export class EmbeddedPostgresError extends Error {
  readonly code = 'embedded_postgres_failed'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedPostgresError'
  }
}

/** The last `lines` lines of a log, indented for a message; empty when there is no such file. */
export function logTail(file: string, lines = 12): string {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch {
    return ''
  }
  try {
    const size = fstatSync(handle).size
    const buffer = Buffer.alloc(Math.min(size, tailBytes))
    readSync(handle, buffer, 0, buffer.length, size - buffer.length)
    return indent(buffer.toString('utf8').trimEnd().split('\n').slice(-lines).join('\n'))
  } finally {
    closeSync(handle)
  }
}

/** Text of another program inside one of our messages, set off by two spaces. */
export function indent(text: string): string {
  const trimmed = text.trim()
  return trimmed === '' ? '' : `\n${trimmed.replace(/^/gm, '  ')}`
}
