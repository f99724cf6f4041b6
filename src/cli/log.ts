import type { Writable } from 'node:stream'
import { type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'
import { scrubbing } from './scrubbing.ts'
import { warningLines } from './show/warning-lines.ts'

const isoInUtc = "UTC:yyyy-mm-dd'T'HH:MM:ss.l'Z'"

/**
 * JSON lines with times in ISO 8601, or readable ones on a terminal; secrets are scrubbed by value whatever a line
 * holds.
 * @param followed a person follows a run: warnings are told to them, between the lines that say how it gets on.
 */
export function createLogger(
  to: Writable & { isTTY?: boolean },
  level: LoggerOptions['level'],
  secrets: readonly string[],
  followed = false,
): Logger {
  const safe = scrubbing(to, secrets)
  // What follows escapes texts in a way of its own, so what it is given is scrubbed already.
  if (followed) return pino({ level: 'warn', base: null }, scrubbing(warningLines(safe), secrets))
  const destination = to.isTTY
    ? scrubbing(
        pretty({ destination: safe, ignore: 'pid,hostname', translateTime: isoInUtc, colorize: true, sync: true }),
        secrets,
      )
    : safe
  return pino({ level: level ?? 'info', base: { pid: process.pid }, timestamp: stdTimeFunctions.isoTime }, destination)
}
