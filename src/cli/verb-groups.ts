import { type Command, Option } from 'commander'
import type { Cli, CommonOptions, ExitCode } from './cli.ts'
import { oneRun, repeated, sinceMoment, someText, wholeNumber, withFilterOptions } from './option-values.ts'
import type { ActionsOptions } from './verbs/actions.ts'
import type { ApproveOptions } from './verbs/approve.ts'
import type { BackupOptions } from './verbs/backup.ts'
import type { ContractCheckOptions } from './verbs/contract-check.ts'
import type { EvidenceOptions } from './verbs/evidence.ts'
import type { RunsOptions, SubmissionsOptions } from './verbs/list-runs.ts'
import type { RereadOptions } from './verbs/reread.ts'
import type { ResendOptions, RetryOptions } from './verbs/resend-rows.ts'
import type { AcceptRemovalsOptions, RestoreOptions } from './verbs/settle-removals.ts'
import type { ReportOptions } from './verbs/show-report.ts'
import type { HotelsOptions } from './verbs/suspend.ts'

/** Reads the number of something that is stored. */
const someNumber = wholeNumber(1, Number.MAX_SAFE_INTEGER)

/** Makes a verb with the options of all verbs. */
type MakeVerb = (name: string, summary: string, details?: string) => Command

/** The verbs by which people act on rows, requests and what the guard holds. */
export function addActionVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  const chosen = 'Choose the rows with the filters, or take all of them with --all.'
  const told = `${chosen} With --run and --json it prints what it marked with run: null and the error if no run could begin.`
  withFilterOptions(verb('retry', 'send rows again that the service rejected, once, with the next run', told), cli)
    .option('--all', 'every rejected row')
    .option('--dry-run', 'say which and how many, and change nothing')
    .option('--run', 'start a run at once, and follow it')
    .action(async (options: RetryOptions) => done(await (await import('./verbs/resend-rows.ts')).retry(cli, options)))
  verb('reread', 'have the next run read a stream again, wholly or from a cursor on, and compare it with the ledger')
    .argument('<stream>', 'such as properties')
    .option(
      '--since <cursor>',
      'only from here on: 3d, 2026-11-21, 2026-11-21T02:00Z, or a number if the cursor is one',
    )
    .option('--dry-run', 'say what would be forgotten, and change nothing')
    .action(async (stream: string, options: RereadOptions) =>
      done(await (await import('./verbs/reread.ts')).reread(cli, stream, options)),
    )
  verb('resend', 'send rows again that the service accepted, once, with the next run', chosen)
    .option('--partner-id <id>', 'only rows of one hotel', someText)
    .option('--stream <name>', 'only rows of a stream', someText)
    .option('--submission <number>', 'only rows that a submission carried', someNumber)
    .option('--since <time>', 'only rows accepted since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .addOption(
      new Option('--difference <kind>', 'only rows that the last comparison found so').choices([
        'absent',
        'different',
        'any',
      ] satisfies ResendOptions['difference'][]),
    )
    .option('--also-later', 'with --difference: also rows that the service changed after they were sent')
    .option('--all', 'everything that was accepted, also of rows that changed since')
    .option('--beyond-guard', 'also if it is more than the guard lets through')
    .option('--dry-run', 'say which and how many, and change nothing')
    .action(async (options: ResendOptions) => done(await (await import('./verbs/resend-rows.ts')).resend(cli, options)))
  verb('abandon', 'give a submission up that waits for ever; its rows go out again with the next run')
    .argument('<submission>', 'number of the submission', someNumber)
    .action(async (id: number, options: CommonOptions) =>
      done(await (await import('./verbs/act-on-request.ts')).abandon(cli, id, options)),
    )
  verb('adopt', 'say which task an uncertain submission became')
    .argument('<submission>', 'number of the submission', someNumber)
    .argument('<correlation id>', 'correlation id of the task')
    .action(async (id: number, task: string, options: CommonOptions) =>
      done(await (await import('./verbs/act-on-request.ts')).adopt(cli, id, task, options)),
    )
  verb('cancel', 'have the service cancel the task of a submission, if it has not begun')
    .argument('<submission>', 'number of the submission', someNumber)
    .action(async (id: number, options: CommonOptions) =>
      done(await (await import('./verbs/act-on-request.ts')).cancel(cli, id, options)),
    )
  verb('approve', 'let through what the guard stopped a run over')
    .argument('<run>', 'the run that was held', someNumber)
    .option('--dry-run', 'show what is held, and approve nothing')
    .action(async (runId: number, options: ApproveOptions) =>
      done(await (await import('./verbs/approve.ts')).approve(cli, runId, options)),
    )
  verb('accept-removals', 'remove what searches have shown as absent and is withheld')
    .option('--reason <code>', 'only what stands for this reason, also if it is not withheld', someText)
    .option('--partner-id <id>', 'only what belongs to one hotel', someText)
    .option('--run <id>', 'only what this run did not renew', someNumber)
    .option('--all', 'everything that is withheld, unless it was restored')
    .option('--dry-run', 'say what and how much, and remove nothing')
    .action(async (options: AcceptRemovalsOptions) =>
      done(await (await import('./verbs/settle-removals.ts')).acceptRemovals(cli, options)),
    )
  verb('restore', 'bring back values and property values that were removed (for pull.keepRemovedDays)')
    .option('--run <id>', 'only what this run removed', someNumber)
    .option('--since <time>', 'only what was removed since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--partner-id <id>', 'only what belongs to one hotel', someText)
    .option('--all', 'everything that is kept')
    .option('--dry-run', 'say how much, and bring back nothing')
    .action(async (options: RestoreOptions) =>
      done(await (await import('./verbs/settle-removals.ts')).restore(cli, options)),
    )
  addHotelVerbs(verb, cli, done)
}

/** The verbs by which people say of which hotels nothing is sent. */
function addHotelVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  const stranger = ['--unknown', 'also ids of which nothing was ever read'] as const
  const load = () => import('./verbs/suspend.ts')
  const named = (text: string, before: readonly string[] = []) => [...before, someText(text)]
  const listed = verb('hotels', 'show the hotels that are suspended, by whom and why, and the pilot')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 100_000), 100)
    .action(async (options: HotelsOptions) => done(await (await load()).hotels(cli, options)))
  listed
    .command('suspend')
    .description('send nothing more of hotels until they are resumed; what is on its way goes on')
    .argument('<hotel...>', "the partner's ids, such as H-0001", named)
    .requiredOption('--reason <text>', 'why, for anyone who looks', someText)
    .option(...stranger)
    .action(async (ids: string[], _: unknown, command: Command) =>
      done(await (await load()).suspend(cli, ids, command.optsWithGlobals())),
    )
  listed
    .command('resume')
    .description('have the next run send what is pending of hotels; during a pilot they join it')
    .argument('<hotel...>', "the partner's ids", named)
    .option(...stranger)
    .action(async (ids: string[], _: unknown, command: Command) =>
      done(await (await load()).resume(cli, ids, command.optsWithGlobals())),
    )
  listed
    .command('pilot')
    .description('send only these hotels and suspend all others, also those that the partner adds, until --end')
    .argument('[hotel...]', "the partner's ids; named again, they take the place of those before", named)
    .option('--reason <text>', 'why, for anyone who looks', someText)
    .option('--end', 'end the pilot: the next run sends what is pending of all hotels')
    .option(...stranger)
    .action(async (ids: string[] | undefined, _: unknown, command: Command) =>
      done(await (await load()).pilot(cli, ids ?? [], command.optsWithGlobals())),
    )
}

/** The verbs that show what runs did. */
export function addRunVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb('runs', 'list the newest runs and their verdicts')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000), 20)
    .action(async (options: RunsOptions) => done(await (await import('./verbs/list-runs.ts')).runs(cli, options)))
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
      done(await (await import('./verbs/show-report.ts')).report(cli, run, options)),
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
          ? (await import('./verbs/list-runs.ts')).submissions(cli, options)
          : (await import('./verbs/one-submission.ts')).oneSubmission(cli, submission, options)),
      ),
    )
  verb('waves', 'show which request of a run released which, and what is still parked behind what')
    .argument('[run]', ...oneRun)
    .action(async (run: number | undefined, options: CommonOptions) =>
      done(await (await import('./verbs/list-runs.ts')).waves(cli, run, options)),
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
    .action(async (options: ActionsOptions) => done(await (await import('./verbs/actions.ts')).actions(cli, options)))
  verb(
    'evidence',
    'write what is known of one hotel into a folder, for an audit or a dispute',
    'It holds the rows, what was sent of them and in which requests, what became of it, and what people did. The manifest has the SHA-256 digest of each file.',
  )
    .requiredOption('--partner-id <id>', 'which hotel', someText)
    .option('--year <year>', 'leave out rows of other years', wholeNumber(1900, 2100))
    .requiredOption('--out <folder>', 'the folder to write, which is not there yet', someText)
    .action(async (options: EvidenceOptions) =>
      done(await (await import('./verbs/evidence.ts')).evidence(cli, options)),
    )
}

/** The verbs that save what Nightferry stores, and bring it back. */
export function addBackupVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb(
    'backup',
    'write all that Nightferry stores into one file, while others work',
    'The file holds the database as it was at one moment, compressed, and sums to check it by. It has no key and no password, but all that your hotels report: keep it as you keep your own database.',
  )
    .requiredOption('--out <file>', 'the file to write')
    .option('--force', 'overwrite a file that is there')
    .action(async (options: BackupOptions) => done(await (await import('./verbs/backup.ts')).backup(cli, options)))
  verb(
    'restore-backup',
    'load such a file into an empty database, wholly or not at all',
    'The database is the one that the configuration names. It is brought to the newest schema, and every table is compared with the file. What was sent since the backup is not in it.',
  )
    .argument('<file>', 'the file that nightferry backup wrote')
    .action(async (file: string, options: CommonOptions) =>
      done(await (await import('./verbs/backup.ts')).restoreBackup(cli, file, options)),
    )
}

/** The verbs of two words. */
export function addNestedVerbs(program: Command, cli: Cli, done: (code: ExitCode) => void): void {
  const contract = program.command('contract').description('the names on the wire')
  contract
    .command('check')
    .summary('compare each name of the contract with an OpenAPI description of a deployment')
    .description(
      'compare each name of the contract with an OpenAPI description of a deployment\n\nIt ends with 3 if the description refutes a name. It lists what is refuted, and what it says of our assumptions.',
    )
    .requiredOption('--openapi <file or url>', 'the description, in JSON or YAML; no key is sent for it')
    .option('--all', 'also the names that the specification states or public clients use')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting, such as exchange.contract=mine.yaml; repeatable', repeated)
    .option('--json', 'print JSON instead of text')
    .action(async (options: ContractCheckOptions) =>
      done(await (await import('./verbs/contract-check.ts')).contractCheck(cli, options)),
    )

  const config = program.command('config').description('the configuration')
  config
    .command('print')
    .description('print the configuration in force, with secrets hidden')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
    .option('--json', 'print JSON instead of YAML')
    .action(async (options: CommonOptions) => done((await import('./verbs/config-print.ts')).configPrint(cli, options)))
}
