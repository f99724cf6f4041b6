import { Writable } from 'node:stream'
import { type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'
import type { Deps } from '../pipeline/deps.ts'
import { scrubbing } from './scrubbing.ts'
import { readable } from './show/readable.ts'

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

/** Fields of a log line that say nothing to a person who follows one run. */
const unsaid = new Set(['level', 'time', 'pid', 'msg', 'run_id'])

/**
 * Log lines as a person who follows a run wants them: one warning a line, as it happens, without the JSON around it.
 * What is no JSON line passes as it is.
 */
function warningLines(to: NodeJS.WritableStream): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk: Buffer | string, _encoding, done) => {
      const lines = String(chunk)
        .split('\n')
        .map((line) => (line === '' ? null : warningLine(line)))
        .filter((line) => line !== null)
      if (lines.length > 0) to.write(`${lines.join('\n')}\n`)
      done()
    },
  })
}

/** Anyone who follows a run is told how it ended, and why, once it has; a look that is not made again ends it. */
function saidAtTheEnd({ msg, level }: Record<string, unknown>): boolean {
  const ends = msg === 'run_failed' || msg === 'run_finished' || msg === 'api_key_refused'
  return ends || (msg === 'look_failed' && typeof level === 'number' && level >= errorLevel)
}

/** As pino numbers it. */
const errorLevel = 50

/** Pure. The values come from anywhere, so what could steer a terminal is shown instead. Null: said elsewhere. */
function warningLine(line: string): string | null {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(line) as Record<string, unknown>
  } catch {
    return readable(line)
  }
  if (saidAtTheEnd(fields)) return null
  const said = Object.entries(fields)
    .filter(([name, value]) => !unsaid.has(name) && value !== null)
    .map(([name, value]) => `${name}: ${wordsOf(value)}`)
  return readable(`  warning: ${String(fields.msg).replaceAll('_', ' ')} (${said.join(', ')})`)
}

/** Of an error its message: its stack is for the log of a daemon. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value
  const { message } = (typeof value === 'object' ? value : {}) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(value)
}

export type TroubleLog = {
  /** Logs the error as `event`, unless trouble of this kind was logged within the last interval: then it is counted. */
  tell: Deps['tellTrouble']
  /** Logs what was counted and not told yet, and ends. */
  close: () => void
}

type Kind = { event: string; latest: Error; about: object; suppressed: number; timer: NodeJS.Timeout }

const minuteMs = 60_000

/**
 * Trouble that repeats itself many times a second, as when a database is away, told once a minute for each kind: the
 * event with the error's code, or with its words where it has none. `suppressed` says how often it was not told.
 */
export function createTroubleLog(logger: Pick<Logger, 'error'>, intervalMs: number = minuteMs): TroubleLog {
  const kinds = new Map<string, Kind>()
  const write = ({ event, latest, about, suppressed }: Omit<Kind, 'timer'>) => {
    const { code } = latest as { code?: unknown }
    logger.error(
      {
        ...about,
        ...(code !== undefined && { code }),
        error: latest.message || String(code),
        ...(suppressed > 0 && { suppressed }),
      },
      event,
    )
  }
  const endOfInterval = (key: string) => {
    const kind = kinds.get(key)
    if (kind === undefined) return
    if (kind.suppressed === 0) {
      clearInterval(kind.timer)
      kinds.delete(key)
      return
    }
    write(kind)
    kind.suppressed = 0
  }
  return {
    tell: (event, error, about = {}) => {
      const { code } = error as { code?: unknown }
      const key = `${event} ${typeof code === 'string' ? code : error.message.replaceAll(/\d+/g, '#')}`
      const known = kinds.get(key)
      if (known !== undefined) {
        known.suppressed += 1
        known.latest = error
        known.about = about
        return
      }
      write({ event, latest: error, about, suppressed: 0 })
      const timer = setInterval(endOfInterval, intervalMs, key).unref()
      kinds.set(key, { event, latest: error, about, suppressed: 0, timer })
    },
    close: () => {
      for (const [key, kind] of kinds) {
        endOfInterval(key)
        clearInterval(kind.timer)
      }
      kinds.clear()
    },
  }
}
