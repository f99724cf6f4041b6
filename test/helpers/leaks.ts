import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import type { Deps } from '../../src/pipeline/deps.ts'
import { secretsIn } from './canaries.ts'

/** Secrets that were found since the last look, each with the place. */
const found: string[] = []

/** Looks for secrets in what was written. The test that is under way fails if there are any, and names the place. */
export function inspect(place: string, text: string): void {
  for (const secret of secretsIn(text)) found.push(`${place}: ${secret}`)
}

/** Notes a secret that was found elsewhere than in a text. */
export function reportLeak(place: string): void {
  found.push(place)
}

/** What was found since the last call. */
export function takeLeaks(): string[] {
  return found.splice(0)
}

/** A logger at trace level for stages that run within a test. Nothing scrubs its lines, and they are looked through. */
export function inspectedLogger(): Logger {
  const to = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, callback) {
      inspect(`a logger: ${line.slice(0, 80)}`, line)
      callback()
    },
  })
  return pino({ level: 'trace' }, to)
}

/** Trouble as a daemon logs it, but each time: `createTroubleLog` has tests of its own. */
export function troubleTo(logger: Pick<Logger, 'error'>): Deps['tellTrouble'] {
  return (event, error, about = {}) => logger.error({ ...about, error: error.message }, event)
}
