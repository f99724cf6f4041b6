import type { Cli, CommonOptions, ExitCode } from '../cli.ts'
import { oneRun, sinceMoment, someNumber, someText, wholeNumber } from '../option-values.ts'
import type { ActionsOptions } from '../verbs/actions.ts'
import type { EvidenceOptions } from '../verbs/evidence.ts'
import type { RunsOptions, SubmissionsOptions } from '../verbs/list-runs.ts'
import type { ReportOptions } from '../verbs/show-report.ts'
import type { MakeVerb } from './make-verb.ts'

/** The verbs that show what runs did. */
export function addRunVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb('runs', 'list the newest runs and their verdicts')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000), 20)
    .action(async (options: RunsOptions) => done(await (await import('../verbs/list-runs.ts')).runs(cli, options)))
  verb(
    'report',
    'print the report of a run that has ended, as it was printed after it',
    'Of a run that failed Nightferry prints the failure. It ends with 0 whatever the verdict of the run.',
  )
    .argument(
      '[run]',
      'which run (default: the newest that has ended, for the destination in use, but housekeeping)',
      someNumber,
    )
    .option('--job <job>', 'the newest run of this job that has ended', someText)
    .action(async (run: number | undefined, options: ReportOptions) =>
      done(await (await import('../verbs/show-report.ts')).report(cli, run, options)),
    )
  verb(
    'submissions',
    'list the requests of a run, or show one of them: the rows that it carried, or its body as it was sent',
    'Nightferry shows the state, the correlation id, the rows and the times of each.',
  )
    .argument('[submission]', 'the one of which the rows are listed, with what became of each', someNumber)
    .option('--run <id>', ...oneRun)
    .option('--body', 'print the body of the one, byte for byte as it was sent')
    .option('--partner-id <id>', "only one hotel's rows of the one, or with --body its elements", someText)
    .option('--limit <count>', 'how many rows of the one to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print the rows of the one as CSV')
    .action(async (submission: number | undefined, options: SubmissionsOptions) =>
      done(
        await (submission === undefined
          ? (await import('../verbs/list-runs.ts')).submissions(cli, options)
          : (await import('../verbs/one-submission.ts')).oneSubmission(cli, submission, options)),
      ),
    )
  verb('waves', 'show which request of a run released which, and what is still parked behind what')
    .argument('[run]', ...oneRun)
    .action(async (run: number | undefined, options: CommonOptions) =>
      done(await (await import('../verbs/list-runs.ts')).waves(cli, run, options)),
    )
  verb(
    'actions',
    'list what people did: who, when, on what, why, and what came of it',
    'Who started a run stands with the run: asked_by of nightferry runs --json.',
  )
    .option('--verb <verb>', 'only what was done with this verb, such as retry', someText)
    .option('--submission <number>', 'only what was done about this submission', someNumber)
    .option('--run <id>', 'only what was done about this run, or about one of its submissions', someNumber)
    .option(
      '--partner-id <id>',
      'only what was done about one hotel, its rows, or submissions that carried one',
      someText,
    )
    .option('--stream <name>', 'only what was done about this stream', someText)
    .option('--job <job>', 'only what was done about this job', someText)
    .option('--since <time>', 'only what was done since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ActionsOptions) => done(await (await import('../verbs/actions.ts')).actions(cli, options)))
  verb(
    'evidence',
    'write what is known of one hotel into a folder, for an audit or a dispute',
    'It holds the rows, what was sent of them and in which requests, what became of it, and what people did. The manifest has the SHA-256 digest of each file.',
  )
    .requiredOption('--partner-id <id>', 'which hotel', someText)
    .option('--year <year>', 'leave out rows of other years', wholeNumber(1900, 2100))
    .requiredOption('--out <folder>', 'the folder to write, which is not there yet', someText)
    .action(async (options: EvidenceOptions) =>
      done(await (await import('../verbs/evidence.ts')).evidence(cli, options)),
    )
}
