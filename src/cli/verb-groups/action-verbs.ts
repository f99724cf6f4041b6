import { type Command, Option } from 'commander'
import type { Cli, CommonOptions, ExitCode } from '../cli.ts'
import { sinceMoment, someNumber, someText, wholeNumber, withFilterOptions } from '../option-values.ts'
import type { ApproveOptions } from '../verbs/approve.ts'
import type { RereadOptions } from '../verbs/reread.ts'
import type { ResendOptions, RetryOptions } from '../verbs/resend-rows.ts'
import type { AcceptRemovalsOptions, RestoreOptions } from '../verbs/settle-removals.ts'
import type { HotelsOptions } from '../verbs/suspend.ts'
import type { MakeVerb } from './make-verb.ts'

/** The verbs by which people act on rows, requests and what the guard holds. */
export function addActionVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  const chosen = 'Choose the rows with the filters, or take all of them with --all.'
  const told = `${chosen} With --run and --json it prints what it marked with run: null and the error if no run could begin.`
  withFilterOptions(verb('retry', 'send rows again that the service rejected, once, with the next run', told), cli)
    .option('--all', 'every rejected row')
    .option('--dry-run', 'say which and how many, and change nothing')
    .option('--run', 'start a run at once, and follow it')
    .action(async (options: RetryOptions) => done(await (await import('../verbs/resend-rows.ts')).retry(cli, options)))
  verb('reread', 'have the next run read a stream again, wholly or from a cursor on, and compare it with the ledger')
    .argument('<stream>', 'such as properties')
    .option(
      '--since <cursor>',
      'only from here on: 3d, 2026-11-21, 2026-11-21T02:00Z, or a number if the cursor is one',
    )
    .option('--dry-run', 'say what would be forgotten, and change nothing')
    .action(async (stream: string, options: RereadOptions) =>
      done(await (await import('../verbs/reread.ts')).reread(cli, stream, options)),
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
    .action(async (options: ResendOptions) =>
      done(await (await import('../verbs/resend-rows.ts')).resend(cli, options)),
    )
  verb('abandon', 'give a submission up that waits for ever; its rows go out again with the next run')
    .argument('<submission>', 'number of the submission', someNumber)
    .action(async (id: number, options: CommonOptions) =>
      done(await (await import('../verbs/act-on-request.ts')).abandon(cli, id, options)),
    )
  verb('adopt', 'say which task an uncertain submission became')
    .argument('<submission>', 'number of the submission', someNumber)
    .argument('<correlation id>', 'correlation id of the task')
    .action(async (id: number, task: string, options: CommonOptions) =>
      done(await (await import('../verbs/act-on-request.ts')).adopt(cli, id, task, options)),
    )
  verb('cancel', 'have the service cancel the task of a submission, if it has not begun')
    .argument('<submission>', 'number of the submission', someNumber)
    .action(async (id: number, options: CommonOptions) =>
      done(await (await import('../verbs/act-on-request.ts')).cancel(cli, id, options)),
    )
  verb('approve', 'let through what the guard stopped a run over')
    .argument('<run>', 'the run that was held', someNumber)
    .option('--dry-run', 'show what is held, and approve nothing')
    .action(async (runId: number, options: ApproveOptions) =>
      done(await (await import('../verbs/approve.ts')).approve(cli, runId, options)),
    )
  verb('accept-removals', 'remove what searches have shown as absent and is withheld')
    .option('--reason <code>', 'only what stands for this reason, also if it is not withheld', someText)
    .option('--partner-id <id>', 'only what belongs to one hotel', someText)
    .option('--run <id>', 'only what this run did not renew', someNumber)
    .option('--all', 'everything that is withheld, unless it was restored')
    .option('--dry-run', 'say what and how much, and remove nothing')
    .action(async (options: AcceptRemovalsOptions) =>
      done(await (await import('../verbs/settle-removals.ts')).acceptRemovals(cli, options)),
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
      done(await (await import('../verbs/settle-removals.ts')).restore(cli, options)),
    )
  addHotelVerbs(verb, cli, done)
}

/** The verbs by which people say of which hotels nothing is sent. */
function addHotelVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  const stranger = ['--unknown', 'also ids of which nothing was ever read'] as const
  const load = () => import('../verbs/suspend.ts')
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
