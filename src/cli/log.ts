import type { Writable } from 'node:stream'
import { type Logger, type LoggerOptions, pino } from 'pino'
import pretty from 'pino-pretty'
import { scrubbing } from './scrubbing.ts'
import { warningLines } from './warning-lines.ts'

/**
 * JSON lines, or readable ones on a terminal; secrets are scrubbed by value whatever a line holds.
 * @param followed a person follows a run: warnings are told to them, between the lines that say how it gets on.
 */
export function createLogger(
  to: Writable & { isTTY?: boolean },
  level: LoggerOptions['level'],
  secrets: readonly string[],
  followed = false,
): Logger {
  const safe = scrubbing(to, secrets)
  if (followed) return pino({ level: 'warn', base: null }, warningLines(safe))
  const destination = to.isTTY
    ? pretty({ destination: safe, ignore: 'pid,hostname', colorize: true, sync: true })
    : safe
  return pino({ level: level ?? 'info', base: { pid: process.pid } }, destination)
}
