import { type Command, InvalidArgumentError } from 'commander'
import { streamNames } from '../config/known-names.ts'
import type { Cli } from './cli.ts'

/** A reader of whole numbers from `min` to `max` for an option. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`A whole number from ${min} to ${max} is wanted.`)
  }
}

/** Reads the number of something that is stored. */
export const someNumber = wholeNumber(1, Number.MAX_SAFE_INTEGER)

/** What the option of a verb about one run says of itself, and its reader. */
export const oneRun = [
  'which run (default: the newest for the destination in use but housekeeping)',
  wholeNumber(1, Number.MAX_SAFE_INTEGER),
] as const

/** Reads a number from 0 to 1 for an option. */
export function fraction(text: string): number {
  const value = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && value <= 1) return value
  throw new InvalidArgumentError('A number from 0 to 1 is wanted.')
}

/**
 * Reads a text that narrows something down. An empty one, as an unset variable of a shell leaves it, would narrow
 * nothing, or leave nothing.
 */
export function someText(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('A text is wanted, and this one is empty.')
}

/**
 * Collects an option that may be given several times, one value each: an option that takes several at once would take
 * the arguments of the verb too.
 */
export function repeated(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * The moment that `--since` names: so long ago (`90m`, `12h`, `3d`), or a date or time, in UTC unless it names a zone.
 * @throws {InvalidArgumentError} when it is neither, or a day that does not exist, such as 31 February.
 */
export function sinceMoment(text: string, now: Date): Date {
  const ago = /^(\d{1,6})([mhd])$/.exec(text)
  if (ago !== null) return new Date(now.getTime() - Number(ago[1]) * units[ago[2] as keyof typeof units])
  const named = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?$/.test(text)
  const exists = named && isInCalendar(text.slice(0, '2026-11-21'.length))
  const moment = new Date(exists ? withZone(text.replace(' ', 'T')) : Number.NaN)
  if (Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError('A time is wanted, such as 12h, 3d, 2026-11-21 or 2026-11-21T02:00Z.')
  }
  return moment
}

/** JavaScript takes 31 February for a day of March. */
function isInCalendar(day: string): boolean {
  const moment = new Date(day)
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(day)
}

/** A date alone is midnight in UTC by itself; a time without a zone would be local. */
function withZone(text: string): string {
  return text.includes('T') && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text
}

/** The options by which a person narrows rows down. */
export type FilterOptions = { stream?: string; partnerId?: string; reason?: string; since?: Date }

const flags: Record<keyof FilterOptions, string> = {
  stream: '--stream',
  partnerId: '--partner-id',
  reason: '--reason',
  since: '--since',
}

/** The options among these that narrow rows down, as they were typed; null where none was given. */
export function namedFilters(options: FilterOptions): string | null {
  const given = Object.entries(flags).flatMap(([name, flag]) =>
    options[name as keyof FilterOptions] === undefined ? [] : [flag],
  )
  return given.length === 0 ? null : given.join(' and ')
}

/**
 * Adds the options to a verb.
 * @param reason what `--reason` is looked for in.
 */
export function withFilterOptions(verb: Command, cli: Cli, reason = 'the code or the reason'): Command {
  return verb
    .option(
      '--stream <name>',
      `only rows of a stream: ${streamNames.join(', ')}, or one that the contract adds`,
      someText,
    )
    .option('--partner-id <id>', 'only rows of one hotel', someText)
    .option('--reason <text>', `only rows with this text in ${reason}`, someText)
    .option('--since <time>', 'only rows that are so since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
}

/** The options of `nightferry conformance`, grouped as its help shows them. */
export function addConformanceOptions(command: Command): Command {
  return command
    .optionsGroup('Service:')
    .option('--base-url <url>', 'base address, without /api (default: EXCHANGE_BASE_URL, or the configuration)')
    .option('--api-key <key>', 'others can see a command line: better EXCHANGE_API_KEY, or EXCHANGE_API_KEY_FILE')
    .option('--contract <file>', 'the wire names to hold the service against (default: those in use)')
    .optionsGroup('Writing, to one hotel only:')
    .option('--group <id>', 'the group that holds its company')
    .option('--custom-identifier <id>', 'the custom property that is the identifier')
    .option('--identifier <value>', 'its value of that property')
    .option('--company <id>', 'its company, while it is not mapped')
    .option('--field-type <id>', 'a field type to send an input for (default: one of a calculator that is there)')
    .option('--year <year>', 'the reporting year that is written to (default: ten years ago)', wholeNumber(1900, 2100))
    .optionsGroup('Sandbox:')
    .option('--administration', 'also use the administration API of the sandbox; write to a hotel of its choice')
    .option('--certifier-key <key>', 'key of a profile that owns applications (default: EXCHANGE_CERTIFIER_KEY)')
    .option('--sibling-key <key>', 'another key of the same profile (default: EXCHANGE_SIBLING_KEY)')
    .optionsGroup('Time:')
    .option('--poll <ms>', 'time between two looks at unfinished tasks', wholeNumber(10, 600_000), 1000)
    .option('--task-limit <seconds>', 'how long a task may take', wholeNumber(1, 86_400), 600)
    .option('--time-limit <seconds>', 'how long everything may take', wholeNumber(1, 86_400), 1800)
}
