import { Argument, Command } from 'commander'
import { type Cli, type CommonOptions, type ExitCode, fitTables, widthOf } from './cli.ts'
import {
  addConformanceOptions,
  repeated,
  sinceMoment,
  someText,
  wholeNumber,
  withFilterOptions,
} from './option-values.ts'
import { addActionVerbs, addBackupVerbs, addNestedVerbs, addRunVerbs } from './verb-groups.ts'
import type { ChangesOptions } from './verbs/changes.ts'
import type { Shell } from './verbs/completion.ts'
import type { ConformanceOptions } from './verbs/conformance.ts'
import type { ConsoleOptions } from './verbs/console.ts'
import type { DemoOptions } from './verbs/demo.ts'
import type { Decision, DestinationOptions } from './verbs/destination.ts'
import type { DifferencesOptions } from './verbs/differences.ts'
import type { DoctorOptions } from './verbs/doctor.ts'
import type { InitOptions } from './verbs/init.ts'
import type { DriftOptions, ListOptions } from './verbs/list-rows.ts'
import type { NotifyOptions } from './verbs/notify.ts'
import type { PlanVerbOptions } from './verbs/plan.ts'
import type { GrantOptions, SqlOptions } from './verbs/readers.ts'
import type { ReferenceOptions } from './verbs/reference.ts'
import type { RehearseOptions } from './verbs/rehearse.ts'
import type { RunOptions } from './verbs/run.ts'
import type { SandboxOptions } from './verbs/sandbox.ts'
import type { SupportOptions } from './verbs/support.ts'
import type { ApplicationsOptions, WebhooksOptions } from './verbs/webhooks.ts'

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

  program
    .command('init')
    .summary('write a configuration for your service and your database, from what both of them show')
    .description(
      'write a configuration for your service and your database, from what both of them show\n\nNightferry asks on a terminal for what the flags and the environment do not say. The key is never a flag. It reads both, and changes neither. Where several tables have one name, it prefers the schema that a session is in (with MySQL: the database of the address), and says which it took.',
    )
    .option('--url <address>', 'address of the service, without /api (or EXCHANGE_BASE_URL)')
    .option('--partner <url>', 'your database, if the address holds no password (otherwise PARTNER_DATABASE_URL)')
    .option('--identifier <id or name>', 'the custom property that holds your ids, if there are several')
    .option('--group <id or name>', 'the group that holds your companies, if there are several')
    .option('--table <stream=table>', 'the table of a stream, such as properties=houses; repeatable', repeated)
    .option('--column <stream.column=column>', 'a column of it, such as properties.partner_id=no; repeatable', repeated)
    .option('--field-types', 'also list field types by name, from one calculators search at the service')
    .option('--read-only', 'for somebody who sends nothing: no identifier, group, database or stream')
    .option('--out <file>', 'the file to write', 'nightferry.yaml')
    .option('--secrets-file <file>', 'also write the secrets to this file, for the shell, readable by you alone')
    .option('--force', 'overwrite files that are there')
    .action(async (options: InitOptions) => done(await (await import('./verbs/init.ts')).init(cli, options)))
  verb('serve', 'run the schedule and the workers until SIGTERM or SIGINT').action(async (options: CommonOptions) =>
    done(await (await import('./verbs/serve.ts')).serve(cli, options)),
  )
  verb(
    'console',
    'open the console: the night at a glance, in a browser',
    'Nightferry prints a link that signs in once. It leads to the daemon that listens on http.port; if none does, the verb serves the console itself until it is interrupted.',
  )
    .option('--no-browser', 'only print the link')
    .action(async (options: ConsoleOptions) =>
      done(await (await import('./verbs/console.ts')).openConsole(cli, options)),
    )
  verb(
    'run',
    'start a job, or go on with an interrupted run of it, and follow it',
    'Nightferry prints the report when the run ends. It does not go on with a run that was asked for with other options; the message names the command that does.',
  )
    .argument('<job>', 'which job: nightly-sync, or another that nightferry jobs lists')
    .option('--only <step>', 'do this step of the job, and what it cannot do without; repeatable', repeated)
    .option('--stream <name>', 'read and send only this stream; repeatable', repeated)
    .option('--since <time>', 'read rows again from here on: 3d, 2026-11-21, 2026-11-21T02:00Z, or a number')
    .option('--dry-run', 'housekeeping: count what would be removed, and remove nothing')
    .action(async (job: string, options: RunOptions) =>
      done(await (await import('./verbs/run.ts')).run(cli, job, options)),
    )
  verb('plan', 'show what a run would send, and why; send nothing')
    .option('--diff', 'what differs from what the service has accepted, row by row')
    .option('--bodies [count]', 'the first bodies of each kind of request', wholeNumber(1, 100))
    .option('--cached', 'judge by the reference data of the last run, without asking the service')
    .option('--limit <count>', 'how many rows of each list to show', wholeNumber(1, 1_000_000), 20)
    .action(async (options: PlanVerbOptions) => done(await (await import('./verbs/plan.ts')).plan(cli, options)))
  verb(
    'rehearse',
    'run tonight against a mirror of the service, on a copy of the ledger, and say what would be refused',
    'The service gets GET requests and searches for the mirror, and nothing of the night. The answers say which of them the specification states and which are assumed. docs/rehearse.md explains it. It ends with 3 if a row would be refused, not be sent, or be of unknown fate, with 1 if the night would fail or stop.',
  )
    .option('--world <file>', 'use this world file (nightferry sandbox --mirror) instead of a mirror taken now')
    .option(
      '--database <url>',
      'an empty database for the copy and the mirror, instead of one of the embedded server; with a password: REHEARSAL_DATABASE_URL',
    )
    .option('--keep', 'keep the database in the end, to look into it; the next rehearsal drops it')
    .option('--limit <count>', 'how many rejected and invalid rows to name', wholeNumber(1, 1_000_000), 1_000)
    .action(async (options: RehearseOptions) =>
      done(await (await import('./verbs/rehearse.ts')).rehearse(cli, options)),
    )
  verb(
    'status',
    'show the last run and the ledger at a glance',
    'Nightferry also shows the newest run of each job that carries data, what the guard holds, the pages of the last run, the searches, and the size that requests of each kind have.',
  ).action(async (options: CommonOptions) => done(await (await import('./verbs/status.ts')).status(cli, options)))
  verb(
    'doctor',
    'look at everything that a night depends on, and say what is wrong, why it matters and what to do',
    'Nothing is changed or sent: the service is only read. It ends with 1 if there is an error, with 3 if there is a warning. docs/doctor.md explains each check.',
  )
    .option('--quiet', 'leave out what is well')
    .action(async (options: DoctorOptions) => done(await (await import('./verbs/doctor.ts')).doctor(cli, options)))
  verb(
    'support',
    'write a file for somebody who helps: versions, configuration, findings, runs, tables; without secrets',
    'It holds no row and no name of a hotel, unless you say --with-rows. It is written for you alone to read, and sent nowhere.',
  )
    .option('--out <file>', 'the archive to write', 'nightferry-support.tar.gz')
    .option('--log <file>', 'also the end of this log, up to 1 MiB')
    .option('--with-rows', 'also texts that may quote rows: messages, reports, lines of the log')
    .option('--force', 'overwrite a file that is there')
    .action(async (options: SupportOptions) => done(await (await import('./verbs/support.ts')).support(cli, options)))
  const jobsVerb = verb('jobs', 'show the jobs: when each starts, how its last run ended, and whether it is paused')
  jobsVerb.action(async (options: CommonOptions) => done(await (await import('./verbs/jobs.ts')).jobs(cli, options)))
  jobsVerb
    .command('pause')
    .description('let nothing start a job until it is resumed; a run that is under way goes on')
    .argument('<job>', 'which job')
    .option('--reason <text>', 'why, for anyone who looks')
    .action(async (job: string, _: unknown, command: Command) =>
      done(await (await import('./verbs/jobs.ts')).pause(cli, job, command.optsWithGlobals())),
    )
  jobsVerb
    .command('resume')
    .description('let a paused job start again')
    .argument('<job>', 'which job')
    .action(async (job: string, _: unknown, command: Command) =>
      done(await (await import('./verbs/jobs.ts')).resume(cli, job, command.optsWithGlobals())),
    )
  addRunVerbs(verb, cli, done)
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
  const required = 'the code, such as requires_missing, or in what is known of the row that they wait for'
  withFilterOptions(verb('parked', listed.parked, counted), cli, required)
    .option('--rows', 'each row, instead of how many of a hotel wait for the same')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ListOptions & { rows?: boolean }) => {
      const each = options.rows === true || options.csv === true || options.json === true
      done(
        await (each
          ? (await import('./verbs/list-rows.ts')).listRows(cli, 'parked', options)
          : (await import('./verbs/list-rows.ts')).listParked(cli, options)),
      )
    })
  verb('trace', 'show what the partner has of one hotel, how it travelled, what became of it, and what came back')
    .argument('<hotel>', "its id in the partner's database, or that of its company at the service")
    .action(async (partnerId: string, options: CommonOptions) =>
      done(await (await import('./verbs/trace.ts')).trace(cli, partnerId, options)),
    )
  addActionVerbs(verb, cli, done)
  addBackupVerbs(verb, cli, done)
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
    .option('--partner-id <id>', 'only what belongs to one hotel, of all runs unless you name one', someText)
    .option('--limit <count>', 'how many to show', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ChangesOptions) => done(await (await import('./verbs/changes.ts')).changes(cli, options)))
  verb('drift', 'list what the service has of rows that are gone here, and of hotels that became another company')
    .option('--stream <name>', 'only what belongs to this stream', someText)
    .option('--limit <count>', 'how many to show', wholeNumber(1, 1_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: DriftOptions) => done(await (await import('./verbs/list-rows.ts')).drift(cli, options)))
  verb('reference', 'show the frameworks, units and properties that the service has, since when, and what changed')
    .option('--changes', 'what the newest version changed, or what differs between two')
    .option('--from <version>', 'the earlier of the two', wholeNumber(0, 2 ** 31 - 1))
    .option('--to <version>', 'the later of the two', wholeNumber(1, 2 ** 31 - 1))
    .option('--accept', 'have the next run take what was not taken because it had too little')
    .action(async (options: ReferenceOptions) =>
      done(await (await import('./verbs/reference.ts')).reference(cli, options)),
    )
  verb(
    'sql',
    'run a read-only query on the tables, or say how to connect',
    'The query runs as a role that can only read. Without a query Nightferry prints how to connect, and keeps the embedded server up.',
  )
    .argument('[query]', 'one statement; the views are found without their schema')
    .option('--csv', 'print CSV instead of text')
    .action(async (query: string | undefined, options: SqlOptions) =>
      done(await (await import('./verbs/readers.ts')).sql(cli, query, options)),
    )
  verb(
    'notify',
    'list the messages about runs, and which of them could not be delivered',
    'With --test it sends one message to notify.url and by notify.email, and says whether it arrived. With --heartbeat it calls notify.heartbeatUrl instead, which tells the monitor that all is well.',
  )
    .option('--test', 'send a test message now')
    .option('--heartbeat', 'with --test: call the heartbeat, and send no message')
    .option('--limit <count>', 'how many to list', wholeNumber(1, 10_000), 20)
    .action(async (options: NotifyOptions) => done(await (await import('./verbs/notify.ts')).notify(cli, options)))
  verb('grant', 'let a role of the database server read the views, and nothing else')
    .argument('<role>', 'an existing role')
    .option('--all', 'also the views that name people, or show rows as the partner had them')
    .option('--revoke', 'take it back')
    .action(async (role: string, options: GrantOptions) =>
      done(await (await import('./verbs/readers.ts')).grant(cli, role, options)),
    )
  verb(
    'destination',
    'show the services, profiles and identifiers that rows were sent to, and which of them is in use',
    'Without a decision it ends with 3 if the configuration points to another than the one in use.',
  )
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
    'webhooks',
    'show what the webhooks of the service brought, and how well they do',
    'With set-up Nightferry says what to enter in the web application of the service: the API has no call for it. Without it the verb ends with 3 if they are configured and do nothing for us: nothing listens, or none tells of tasks that end.',
  )
    .addArgument(new Argument('[what]', 'what to do instead of showing').choices(['set-up']))
    .option('--url <address>', 'with set-up: the public address, which is checked by the rules of the service')
    .action(async (what: 'set-up' | undefined, options: WebhooksOptions) =>
      done(await (await import('./verbs/webhooks.ts')).webhooks(cli, what, options)),
    )
  verb('applications', 'list the certification applications that webhooks told of, for certifiers')
    .argument('[id]', 'the application of which everything is listed that was told')
    .option('--status <name>', 'only those that stand at this status')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 1_000_000), 50)
    .action(async (id: string | undefined, options: ApplicationsOptions) =>
      done(await (await import('./verbs/webhooks.ts')).listApplications(cli, id, options)),
    )
  verb(
    'migrate',
    'bring the database to the newest schema',
    'The verbs run and serve do this when they start. The other verbs never do.',
  ).action(async (options: CommonOptions) => done(await (await import('./verbs/migrate.ts')).migrate(cli, options)))
  const service = verb('sandbox', 'run the service itself, for development, on loopback')
  // What its options may be is the sandbox's to say, and loading it takes as long as a quick verb.
  if (args.includes('sandbox') || args.includes('completion'))
    (await import('./sandbox-options.ts')).addSandboxOptions(service)
  service.action(async (options: SandboxOptions) =>
    done(await (await import('./verbs/sandbox.ts')).sandbox(cli, options)),
  )
  addConformanceOptions(
    verb('conformance', 'compare a deployment with the specification, statement by statement'),
  ).action(async (options: ConformanceOptions) =>
    done(await (await import('./verbs/conformance.ts')).conformance(cli, options)),
  )

  program
    .command('completion')
    .description('print the script by which a shell completes the command line')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
    .action(async (shell: Shell) => done((await import('./verbs/completion.ts')).completion(cli, program, shell)))

  addNestedVerbs(program, cli, done)
  return program
}
