import type { Command } from 'commander'
import type { Cli, CommonOptions, ExitCode } from '../cli.ts'
import { repeated, wholeNumber } from '../option-values.ts'
import type { ConsoleOptions } from '../verbs/console.ts'
import type { DemoOptions } from '../verbs/demo.ts'
import type { DoctorOptions } from '../verbs/doctor.ts'
import type { InitOptions } from '../verbs/init.ts'
import type { PlanVerbOptions } from '../verbs/plan.ts'
import type { RehearseOptions } from '../verbs/rehearse.ts'
import type { RunOptions } from '../verbs/run.ts'
import type { SupportOptions } from '../verbs/support.ts'
import type { MakeVerb } from './make-verb.ts'

/** The verbs with which somebody begins: the demo, and a configuration. */
export function addFirstVerbs(program: Command, cli: Cli, done: (code: ExitCode) => void): void {
  program
    .command('demo')
    .description(
      'run two nights of a made-up hotel group, with an embedded Postgres and the sandbox, and report on each',
    )
    .option('--hotels <count>', 'how many hotels the group has', wholeNumber(1, 1_000_000), 200)
    .option('--seed <number>', 'which made-up world', wholeNumber(0, 2 ** 31 - 1), 1)
    .option('--json', 'print the reports as JSON')
    .action(async (options: DemoOptions) => done(await (await import('../verbs/demo.ts')).demo(cli, options)))

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
    .action(async (options: InitOptions) => done(await (await import('../verbs/init.ts')).init(cli, options)))
}

/** The verbs that run a night, try one, and say how it stands. */
export function addNightVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb('serve', 'run the schedule and the workers until SIGTERM or SIGINT').action(async (options: CommonOptions) =>
    done(await (await import('../verbs/serve.ts')).serve(cli, options)),
  )
  verb(
    'console',
    'open the console: the night at a glance, in a browser',
    'Nightferry prints a link that signs in once. It leads to the daemon that listens on http.port; if none does, the verb serves the console itself until it is interrupted.',
  )
    .option('--no-browser', 'only print the link')
    .action(async (options: ConsoleOptions) =>
      done(await (await import('../verbs/console.ts')).openConsole(cli, options)),
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
      done(await (await import('../verbs/run.ts')).run(cli, job, options)),
    )
  verb('plan', 'show what a run would send, and why; send nothing')
    .option('--diff', 'what differs from what the service has accepted, row by row')
    .option('--bodies [count]', 'the first bodies of each kind of request', wholeNumber(1, 100))
    .option('--cached', 'judge by the reference data of the last run, without asking the service')
    .option('--limit <count>', 'how many rows of each list to show', wholeNumber(1, 1_000_000), 20)
    .action(async (options: PlanVerbOptions) => done(await (await import('../verbs/plan.ts')).plan(cli, options)))
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
      done(await (await import('../verbs/rehearse.ts')).rehearse(cli, options)),
    )
  verb(
    'status',
    'show the last run and the ledger at a glance',
    'Nightferry also shows the newest run of each job that carries data, what the guard holds, the pages of the last run, the searches, and the size that requests of each kind have.',
  ).action(async (options: CommonOptions) => done(await (await import('../verbs/status.ts')).status(cli, options)))
  verb(
    'doctor',
    'look at everything that a night depends on, and say what is wrong, why it matters and what to do',
    'Nothing is changed or sent: the service is only read. It ends with 1 if there is an error, with 3 if there is a warning. docs/doctor.md explains each check.',
  )
    .option('--quiet', 'leave out what is well')
    .action(async (options: DoctorOptions) => done(await (await import('../verbs/doctor.ts')).doctor(cli, options)))
  verb(
    'support',
    'write a file for somebody who helps: versions, configuration, findings, runs, tables; without secrets',
    'It holds no row and no name of a hotel, unless you say --with-rows. It is written for you alone to read, and sent nowhere.',
  )
    .option('--out <file>', 'the archive to write', 'nightferry-support.tar.gz')
    .option('--log <file>', 'also the end of this log, up to 1 MiB')
    .option('--with-rows', 'also texts that may quote rows: messages, reports, lines of the log')
    .option('--force', 'overwrite a file that is there')
    .action(async (options: SupportOptions) => done(await (await import('../verbs/support.ts')).support(cli, options)))
  const jobsVerb = verb('jobs', 'show the jobs: when each starts, how its last run ended, and whether it is paused')
  jobsVerb.action(async (options: CommonOptions) => done(await (await import('../verbs/jobs.ts')).jobs(cli, options)))
  jobsVerb
    .command('pause')
    .description('let nothing start a job until it is resumed; a run that is under way goes on')
    .argument('<job>', 'which job')
    .option('--reason <text>', 'why, for anyone who looks')
    .action(async (job: string, _: unknown, command: Command) =>
      done(await (await import('../verbs/jobs.ts')).pause(cli, job, command.optsWithGlobals())),
    )
  jobsVerb
    .command('resume')
    .description('let a paused job start again')
    .argument('<job>', 'which job')
    .action(async (job: string, _: unknown, command: Command) =>
      done(await (await import('../verbs/jobs.ts')).resume(cli, job, command.optsWithGlobals())),
    )
}
