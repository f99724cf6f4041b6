import { Argument, Command, Option } from 'commander'
import type { Cli, CommonOptions, ExitCode } from './cli.ts'
import { addConformanceOptions } from './conformance-options.ts'
import { repeated, wholeNumber } from './option-values.ts'
import { withFilterOptions } from './row-filter-options.ts'
import { fitTables, widthOf } from './show/terminal-width.ts'
import { sinceMoment } from './since.ts'
import type { AcceptRemovalsOptions } from './verbs/accept-removals.ts'
import type { ApproveOptions } from './verbs/approve.ts'
import type { ChangesOptions } from './verbs/changes.ts'
import type { ConformanceOptions } from './verbs/conformance.ts'
import type { DemoOptions } from './verbs/demo.ts'
import type { Decision, DestinationOptions } from './verbs/destination.ts'
import type { DifferencesOptions } from './verbs/differences.ts'
import type { DriftOptions } from './verbs/drift.ts'
import type { GrantOptions } from './verbs/grant.ts'
import type { ListOptions } from './verbs/list-rows.ts'
import type { NotifyOptions } from './verbs/notify.ts'
import type { PlanVerbOptions } from './verbs/plan.ts'
import type { ReferenceOptions } from './verbs/reference.ts'
import type { RereadOptions } from './verbs/reread.ts'
import type { ResendOptions } from './verbs/resend.ts'
import type { RestoreOptions } from './verbs/restore.ts'
import type { RetryOptions } from './verbs/retry.ts'
import type { RunsOptions } from './verbs/runs.ts'
import type { SandboxOptions } from './verbs/sandbox.ts'
import type { SubmissionsOptions } from './verbs/submissions.ts'

/**
 * The command line: one verb per file, loaded when it is called, because all of them together take a second; each ends
 * with an exit code, which `done` is told.
 * @param args the command line after the program's name.
 */
export async function createProgram(
  cli: Cli,
  version: string,
  args: readonly string[],
  done: (code: ExitCode) => void,
): Promise<Command> {
  fitTables(() => widthOf(cli))
  // Verbs inherit it as they are made: without it, commander would end the process with a code of its own.
  const program = new Command('nightferry')
    .exitOverride()
    .configureOutput({ writeOut: (text) => cli.stdout.write(text), writeErr: (text) => cli.stderr.write(text) })
    .description('Carries what changed in a partner database to the Bulk Data Exchange Service, and the results back.')
    .version(version)
    .showHelpAfterError('(nightferry --help lists the verbs)')

  /** A verb with the options of all verbs: `summary` stands in the list of verbs, `details` in the verb's own help. */
  const verb = (name: string, summary: string, details?: string) =>
    program
      .command(name)
      .summary(summary)
      .description(details === undefined ? summary : `${summary}\n\n${details}`)
      .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
      .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
      .option('--json', 'print JSON instead of text')

  program
    .command('demo')
    .description(
      'run two nights of a made-up hotel group, with an embedded Postgres and the sandbox, and report on each',
    )
    .option('--hotels <count>', 'how many hotels the group has', wholeNumber(1, 1_000_000), 200)
    .option('--seed <number>', 'which made-up world', wholeNumber(0, 2 ** 31 - 1), 1)
    .option('--json', 'print the reports as JSON')
    .action(async (options: DemoOptions) => done(await (await import('./verbs/demo.ts')).demo(cli, options)))

  verb('serve', 'run the schedule and the workers until SIGTERM or SIGINT').action(async (options: CommonOptions) =>
    done(await (await import('./verbs/serve.ts')).serve(cli, options)),
  )
  verb(
    'run',
    'start a job, or go on with an interrupted run of it, and follow it',
    'Nightferry prints the report when the run ends.',
  )
    .argument('<job>', 'which job: nightly-sync')
    .action(async (job: string, options: CommonOptions) =>
      done(await (await import('./verbs/run.ts')).run(cli, job, options)),
    )
  verb('plan', 'show what a run would send, and why; send nothing')
    .option('--diff', 'what differs from what the service has accepted, row by row')
    .option('--bodies [count]', 'the first bodies of each kind of request', wholeNumber(1, 100))
    .option('--cached', 'judge by the reference data of the last run, without asking the service')
    .option('--limit <count>', 'how many rows of each list to show', wholeNumber(1, 1_000_000), 20)
    .action(async (options: PlanVerbOptions) => done(await (await import('./verbs/plan.ts')).plan(cli, options)))
  verb(
    'status',
    'show the last run and the ledger at a glance',
    'Nightferry also shows the pages of the last run, the searches, and the size that requests of each kind have.',
  ).action(async (options: CommonOptions) => done(await (await import('./verbs/status.ts')).status(cli, options)))
  verb('runs', 'list the newest runs and their verdicts')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000), 20)
    .action(async (options: RunsOptions) => done(await (await import('./verbs/runs.ts')).runs(cli, options)))
  verb(
    'submissions',
    'list the requests of a run',
    'Nightferry shows the state, the correlation id, the rows and the times of each.',
  )
    .option('--run <id>', 'which run (default: the last)', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action(async (options: SubmissionsOptions) =>
      done(await (await import('./verbs/submissions.ts')).submissions(cli, options)),
    )
  verb('waves', 'show which request of a run released which, and what is still parked behind what')
    .argument('[run]', 'which run (default: the last)', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action(async (run: number | undefined, options: CommonOptions) =>
      done(await (await import('./verbs/waves.ts')).waves(cli, run, options)),
    )
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
        done(await (await import('./verbs/list-rows.ts')).listRows(cli, state, options)),
      )
  }
  const counted = 'Without --rows Nightferry counts the rows of each hotel that wait for the same.'
  withFilterOptions(verb('parked', listed.parked, counted), cli)
    .option('--rows', 'each row, instead of how many of a hotel wait for the same')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ListOptions & { rows?: boolean }) => {
      const each = options.rows === true || options.csv === true || options.json === true
      done(
        await (each
          ? (await import('./verbs/list-rows.ts')).listRows(cli, 'parked', options)
          : (await import('./verbs/list-parked.ts')).listParked(cli, options)),
      )
    })
  verb('trace', 'show what the partner has of one hotel, how it travelled, what became of it, and what came back')
    .argument('<hotel>', "its id in the partner's database, or that of its company at the service")
    .action(async (partnerId: string, options: CommonOptions) =>
      done(await (await import('./verbs/trace.ts')).trace(cli, partnerId, options)),
    )
  const chosen = 'Choose the rows with the filters, or take all of them with --all.'
  withFilterOptions(verb('retry', 'send rows again that the service rejected, once, with the next run', chosen), cli)
    .option('--all', 'every rejected row')
    .option('--dry-run', 'say which and how many, and change nothing')
    .option('--run', 'start a run at once, and follow it')
    .action(async (options: RetryOptions) => done(await (await import('./verbs/retry.ts')).retry(cli, options)))
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
  const submissionId = wholeNumber(1, Number.MAX_SAFE_INTEGER)
  verb('resend', 'send rows again that the service accepted, once, with the next run', chosen)
    .option('--partner-id <id>', 'only rows of one hotel')
    .option('--stream <name>', 'only rows of a stream')
    .option('--submission <number>', 'only rows that a submission carried', submissionId)
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
    .option('--all', 'every accepted row')
    .option('--beyond-guard', 'also if it is more than the guard lets through')
    .option('--dry-run', 'say which and how many, and change nothing')
    .action(async (options: ResendOptions) => done(await (await import('./verbs/resend.ts')).resend(cli, options)))
  verb('abandon', 'give a submission up that waits for ever; its rows go out again with the next run')
    .argument('<submission>', 'number of the submission', submissionId)
    .action(async (id: number, options: CommonOptions) =>
      done(await (await import('./verbs/abandon.ts')).abandon(cli, id, options)),
    )
  verb('adopt', 'say which task an uncertain submission became')
    .argument('<submission>', 'number of the submission', submissionId)
    .argument('<correlation id>', 'correlation id of the task')
    .action(async (id: number, task: string, options: CommonOptions) =>
      done(await (await import('./verbs/adopt.ts')).adopt(cli, id, task, options)),
    )
  verb('cancel', 'have the service cancel the task of a submission, if it has not begun')
    .argument('<submission>', 'number of the submission', submissionId)
    .action(async (id: number, options: CommonOptions) =>
      done(await (await import('./verbs/cancel.ts')).cancel(cli, id, options)),
    )
  verb('approve', 'let through what the guard stopped a run over')
    .argument('<run>', 'the run that was held', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--dry-run', 'show what is held, and approve nothing')
    .action(async (runId: number, options: ApproveOptions) =>
      done(await (await import('./verbs/approve.ts')).approve(cli, runId, options)),
    )
  verb('accept-removals', 'remove what searches have shown as absent and the guard has kept')
    .option('--reason <code>', 'only what stands for this reason, also if the guard did not keep it')
    .option('--partner-id <id>', 'only what belongs to one hotel')
    .option('--run <id>', 'only what this run did not renew', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--all', 'everything that the guard has kept')
    .option('--dry-run', 'say what and how much, and remove nothing')
    .action(async (options: AcceptRemovalsOptions) =>
      done(await (await import('./verbs/accept-removals.ts')).acceptRemovals(cli, options)),
    )
  verb('restore', 'bring back values and property values that were removed (for pull.keepRemovedDays)')
    .option('--run <id>', 'only what this run removed', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--since <time>', 'only what was removed since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--partner-id <id>', 'only what belongs to one hotel')
    .option('--all', 'everything that is kept')
    .option('--dry-run', 'say how much, and bring back nothing')
    .action(async (options: RestoreOptions) => done(await (await import('./verbs/restore.ts')).restore(cli, options)))
  verb('differences', 'list the rows of every kind that the service accepted and does not show as they were sent')
    .option(
      '--kind <kind>',
      'absent, different, or foreign: there and never sent by us (default: absent and different)',
    )
    .option('--partner-id <id>', 'only what belongs to one hotel')
    .option('--since <time>', 'only what was found since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: DifferencesOptions) =>
      done(await (await import('./verbs/differences.ts')).differences(cli, options)),
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
    .option('--partner-id <id>', 'only what belongs to one hotel, of all runs unless you name one')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ChangesOptions) => done(await (await import('./verbs/changes.ts')).changes(cli, options)))
  verb('drift', 'list what is at the service and no longer in the partner database')
    .option('--stream <name>', 'only what belongs to this stream')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 1_000_000), 100)
    .action(async (options: DriftOptions) => done(await (await import('./verbs/drift.ts')).drift(cli, options)))
  verb('reference', 'show the frameworks, units and properties that the service has, since when, and what changed')
    .option('--changes', 'what the newest version changed, or what differs between two')
    .option('--from <version>', 'the earlier of the two', wholeNumber(0, 2 ** 31 - 1))
    .option('--to <version>', 'the later of the two', wholeNumber(1, 2 ** 31 - 1))
    .option('--accept', 'take what was withheld for holding too little, with the next run')
    .action(async (options: ReferenceOptions) =>
      done(await (await import('./verbs/reference.ts')).reference(cli, options)),
    )
  verb(
    'sql',
    'run a read-only query on the tables, or say how to connect',
    'The query runs as a role that can only read. Without a query Nightferry prints how to connect, and keeps the embedded server up.',
  )
    .argument('[query]', 'one statement; the views are found without their schema')
    .action(async (query: string | undefined, options: CommonOptions) =>
      done(await (await import('./verbs/sql.ts')).sql(cli, query, options)),
    )
  verb(
    'notify',
    'list what was told of runs, and what could not be delivered',
    'With --test it sends one message to notify.url and says whether it arrived.',
  )
    .option('--test', 'send a test message now')
    .option('--limit <count>', 'how many to list', wholeNumber(1, 10_000), 20)
    .action(async (options: NotifyOptions) => done(await (await import('./verbs/notify.ts')).notify(cli, options)))
  verb('grant', 'let a role of the database server read the views, and nothing else')
    .argument('<role>', 'an existing role')
    .option('--all', 'also the views that name people, or show rows as the partner had them')
    .option('--revoke', 'take it back')
    .action(async (role: string, options: GrantOptions) =>
      done(await (await import('./verbs/grant.ts')).grant(cli, role, options)),
    )
  verb('destination', 'show the services, profiles and identifiers that rows were sent to, and which of them is in use')
    .addArgument(
      new Argument(
        '[decision]',
        'what the configured destination is; same: the one in use, under a new name; other: another one',
      ).choices(['same', 'other'] satisfies Decision[]),
    )
    .option('--name <name>', 'what to call it (default: the host of the service)')
    .action(async (decision: Decision | undefined, options: DestinationOptions) =>
      done(await (await import('./verbs/destination.ts')).destination(cli, decision, options)),
    )
  verb(
    'migrate',
    'bring the database to the newest schema',
    'The verbs run and serve do this when they start. The other verbs never do.',
  ).action(async (options: CommonOptions) => done(await (await import('./verbs/migrate.ts')).migrate(cli, options)))
  const service = verb('sandbox', 'run the service itself, for development, on loopback')
  // What its options may be is the sandbox's to say, and loading it takes as long as a quick verb.
  if (args.includes('sandbox')) (await import('./sandbox-options.ts')).addSandboxOptions(service)
  service.action(async (options: SandboxOptions) =>
    done(await (await import('./verbs/sandbox.ts')).sandbox(cli, options)),
  )
  addConformanceOptions(
    verb('conformance', 'compare a deployment with the specification, statement by statement'),
  ).action(async (options: ConformanceOptions) =>
    done(await (await import('./verbs/conformance.ts')).conformance(cli, options)),
  )

  const config = program.command('config').description('the configuration')
  config
    .command('print')
    .description('print the configuration in force, with secrets hidden')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
    .option('--json', 'print JSON instead of YAML')
    .action(async (options: CommonOptions) => done((await import('./verbs/config-print.ts')).configPrint(cli, options)))
  return program
}
