import { Writable } from 'node:stream'
import { readable } from './readable.ts'

/** Fields of a log line that say nothing to a person who follows one run. */
const unsaid = new Set(['level', 'time', 'pid', 'msg', 'run_id'])

/**
 * Log lines as a person who follows a run wants them: one warning a line, as it happens, without the JSON around it.
 * What is no JSON line passes as it is.
 */
export function warningLines(to: NodeJS.WritableStream): Writable {
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
