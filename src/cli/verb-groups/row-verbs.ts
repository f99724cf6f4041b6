import type { Cli, CommonOptions, ExitCode } from '../cli.ts'
import { sinceMoment, someText, wholeNumber, withFilterOptions } from '../option-values.ts'
import type { ChangesOptions } from '../verbs/changes.ts'
import type { DifferencesOptions } from '../verbs/differences.ts'
import type { DriftOptions, ListOptions } from '../verbs/list-rows.ts'
import type { ReferenceOptions } from '../verbs/reference.ts'
import type { MakeVerb } from './make-verb.ts'

/** The verbs that list rows by what became of them, and tell all of one hotel. */
export function addRowVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  const listed = {
    rejected: 'list the rows that the service rejected, with its own words',
    invalid: 'list the rows that cannot be right and were not sent, with the reasons',
    parked: 'list the rows that wait for another to be accepted, and why it is not',
    unknown: 'list the rows whose fate nobody can tell; the next run sends them again',
  } as const
  for (const state of ['rejected', 'invalid', 'unknown'] as const) {
    withFilterOptions(verb(state, listed[state]), cli)
      .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
      .option('--csv', 'print CSV instead of text')
      .action(async (options: ListOptions) =>
        done(await (await import('../verbs/list-rows.ts')).listRows(cli, state, options)),
      )
  }
  const counted = 'Without --rows Nightferry counts the rows of each hotel that wait for the same.'
  const required = 'the code, such as requires_missing, or in what is known of the row that they wait for'
  withFilterOptions(verb('parked', listed.parked, counted), cli, required)
    .option('--rows', 'each row, instead of how many of a hotel wait for the same')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ListOptions & { rows?: boolean }) => {
      const each = options.rows === true || options.csv === true || options.json === true
      done(
        await (each
          ? (await import('../verbs/list-rows.ts')).listRows(cli, 'parked', options)
          : (await import('../verbs/list-rows.ts')).listParked(cli, options)),
      )
    })
  verb('trace', 'show what the partner has of one hotel, how it travelled, what became of it, and what came back')
    .argument('<hotel>', "its id in the partner's database, or that of its company at the service")
    .action(async (partnerId: string, options: CommonOptions) =>
      done(await (await import('../verbs/trace.ts')).trace(cli, partnerId, options)),
    )
}

/** The verbs that say what is otherwise at the service than here, or than before. */
export function addComparisonVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb('differences', 'list the rows of every kind that the service accepted and does not show as they were sent')
    .option(
      '--kind <kind>',
      'absent, different, or foreign: there and never sent by us (default: absent and different)',
    )
    .option('--partner-id <id>', 'only what belongs to one hotel', someText)
    .option('--since <time>', 'only what was found since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: DifferencesOptions) =>
      done(await (await import('../verbs/differences.ts')).differences(cli, options)),
    )
  verb('changes', 'list the values of calculators that the service shows otherwise than before (with pull.history)')
    .option(
      '--run <id>',
      'of this run (default: the last that loaded a search)',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option('--since <time>', 'only what was stored since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--partner-id <id>', 'only what belongs to one hotel, of all runs unless you name one', someText)
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ChangesOptions) => done(await (await import('../verbs/changes.ts')).changes(cli, options)))
  verb('drift', 'list what the service has of rows that are gone here, and of hotels that became another company')
    .option('--stream <name>', 'only what belongs to this stream', someText)
    .option('--limit <count>', 'how many to show', wholeNumber(1, 1_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: DriftOptions) => done(await (await import('../verbs/list-rows.ts')).drift(cli, options)))
  verb('reference', 'show the frameworks, units and properties that the service has, since when, and what changed')
    .option('--changes', 'what the newest version changed, or what differs between two')
    .option('--from <version>', 'the earlier of the two', wholeNumber(0, 2 ** 31 - 1))
    .option('--to <version>', 'the later of the two', wholeNumber(1, 2 ** 31 - 1))
    .option('--accept', 'have the next run take what was not taken because it had too little')
    .action(async (options: ReferenceOptions) =>
      done(await (await import('../verbs/reference.ts')).reference(cli, options)),
    )
}
