import { Argument, Command, Option } from 'commander'
import { abandon } from './abandon.ts'
import { type AcceptRemovalsOptions, acceptRemovals } from './accept-removals.ts'
import { adopt } from './adopt.ts'
import { type ApproveOptions, approve } from './approve.ts'
import { cancel } from './cancel.ts'
import { type ChangesOptions, changes } from './changes.ts'
import type { Cli, CommonOptions, ExitCode } from './cli.ts'
import { configPrint } from './config-print.ts'
import { type ConformanceOptions, conformance } from './conformance.ts'
import { addConformanceOptions } from './conformance-options.ts'
import { type DemoOptions, demo } from './demo.ts'
import { type Decision, type DestinationOptions, decisions, destination } from './destination.ts'
import { type DifferencesOptions, differences } from './differences.ts'
import { type DriftOptions, drift } from './drift.ts'
import { type GrantOptions, grant } from './grant.ts'
import { listParked } from './list-parked.ts'
import { type ListOptions, listRows } from './list-rows.ts'
import { migrate } from './migrate.ts'
import { repeated, wholeNumber } from './option-values.ts'
import { type PlanVerbOptions, plan } from './plan/plan.ts'
import { type ReferenceOptions, reference } from './reference.ts'
import { type RereadOptions, reread } from './reread.ts'
import { type ResendOptions, resend, resendDifferences } from './resend.ts'
import { type RestoreOptions, restore } from './restore.ts'
import { type RetryOptions, retry } from './retry.ts'
import { withFilterOptions } from './row-filter-options.ts'
import { run } from './run.ts'
import { type RunsOptions, runs } from './runs.ts'
import { type SandboxOptions, sandbox } from './sandbox.ts'
import { addSandboxOptions } from './sandbox-options.ts'
import { serve } from './serve.ts'
import { sinceMoment } from './since.ts'
import { sql } from './sql.ts'
import { status } from './status.ts'
import { type SubmissionsOptions, submissions } from './submissions.ts'
import { fitTables, widthOf } from './table.ts'
import { trace } from './trace/trace.ts'
import { waves } from './waves.ts'

/** The command line: one verb per file; each ends with an exit code, which `done` is told. */
export function createProgram(cli: Cli, version: string, done: (code: ExitCode) => void): Command {
  fitTables(() => widthOf(cli))
  // Verbs inherit it as they are made: without it, commander would end the process with a code of its own.
  const program = new Command('nightferry')
    .exitOverride()
    .description('Carries what changed in a partner database to the Bulk Data Exchange Service, and the results back.')
    .version(version)
    .showHelpAfterError('(nightferry --help lists the verbs)')

  const verb = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
      .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
      .option('--json', 'print JSON instead of text')

  program
    .command('demo')
    .description('embedded Postgres, sandbox and a made-up hotel group; two nights; a report')
    .option('--hotels <count>', 'how many hotels the group has', wholeNumber(1, 1_000_000), 200)
    .option('--seed <number>', 'which made-up world', wholeNumber(0, 2 ** 31 - 1), 1)
    .option('--json', 'print the reports as JSON')
    .action(async (options: DemoOptions) => done(await demo(cli, options)))

  verb('serve', 'the service: schedule and workers, until SIGTERM').action(async (options: CommonOptions) =>
    done(await serve(cli, options)),
  )
  verb('run', 'start a job, or go on with an interrupted run of it, and follow it')
    .argument('<job>', 'nightly-sync')
    .action(async (job: string, options: CommonOptions) => done(await run(cli, job, options)))
  verb('plan', 'what a run would send, and why; sends nothing')
    .option('--diff', 'what differs from what the service has accepted, row by row')
    .option('--bodies [count]', 'the first bodies of each kind of request', wholeNumber(1, 100))
    .option('--cached', 'judge by the reference data of the last run, without asking the service')
    .option('--limit <count>', 'rows of each list', wholeNumber(1, 1_000_000), 20)
    .action(async (options: PlanVerbOptions) => done(await plan(cli, options)))
  verb('status', 'the last run and the ledger at a glance').action(async (options: CommonOptions) =>
    done(await status(cli, options)),
  )
  verb('runs', 'the newest runs and their verdicts')
    .option('--limit <count>', 'how many', wholeNumber(1, 10_000), 20)
    .action(async (options: RunsOptions) => done(await runs(cli, options)))
  verb('submissions', 'the requests of a run')
    .option('--run <id>', 'which run (default: the last)', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action(async (options: SubmissionsOptions) => done(await submissions(cli, options)))
  verb('waves', 'which request of a run released which, and what is still parked behind what')
    .argument('[run]', 'which run (default: the last)', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action(async (run: number | undefined, options: CommonOptions) => done(await waves(cli, run, options)))
  const listed = {
    rejected: 'rows that the service rejected, in its own words',
    invalid: 'rows that cannot be right, and were not sent, with the reasons',
    parked: 'rows that wait for another to be accepted, and why it is not',
    unknown: 'rows whose fate nobody can tell; the next run sends them again',
  } as const
  for (const state of ['rejected', 'invalid', 'unknown'] as const) {
    withFilterOptions(verb(state, listed[state]), cli)
      .option('--limit <count>', 'how many', wholeNumber(1, 10_000_000), 100)
      .option('--csv', 'print CSV instead of text')
      .action(async (options: ListOptions) => done(await listRows(cli, state, options)))
  }
  withFilterOptions(verb('parked', listed.parked), cli)
    .option('--rows', 'each row, instead of how many of a hotel wait for the same')
    .option('--limit <count>', 'how many', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ListOptions & { rows?: boolean }) => {
      const each = options.rows === true || options.csv === true || options.json === true
      done(await (each ? listRows(cli, 'parked', options) : listParked(cli, options)))
    })
  verb('trace', 'one hotel: what the partner has, how it travelled, what became of it, what came back')
    .argument('<hotel>', "its id in the partner's database, or that of its company at the service")
    .action(async (partnerId: string, options: CommonOptions) => done(await trace(cli, partnerId, options)))
  withFilterOptions(verb('retry', 'send rows again that the service rejected, once, with the next run'), cli)
    .option('--all', 'every rejected row')
    .option('--dry-run', 'say which and how many, and change nothing')
    .option('--run', 'start a run at once, and follow it')
    .action(async (options: RetryOptions) => done(await retry(cli, options)))
  verb('reread', 'have the next run read a stream again, wholly or from a cursor on, and compare it with the ledger')
    .argument('<stream>', 'such as properties')
    .option(
      '--since <cursor>',
      'only from here on: 3d, 2026-11-21, 2026-11-21T02:00Z, or a number if the cursor is one',
    )
    .option('--dry-run', 'say what would be forgotten, and change nothing')
    .action(async (stream: string, options: RereadOptions) => done(await reread(cli, stream, options)))
  const submissionId = wholeNumber(1, Number.MAX_SAFE_INTEGER)
  verb('resend', 'send rows again that the service accepted, once, with the next run')
    .option('--partner-id <id>', 'only rows of one hotel')
    .option('--stream <name>', 'only rows of a stream')
    .option('--submission <number>', 'only rows that a submission carried', submissionId)
    .option('--since <time>', 'only rows accepted since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .addOption(
      new Option('--difference <kind>', 'only rows that the last comparison found so').choices(resendDifferences),
    )
    .option('--all', 'every accepted row')
    .option('--beyond-guard', 'also if it is more than the guard lets through')
    .option('--dry-run', 'say which and how many, and change nothing')
    .action(async (options: ResendOptions) => done(await resend(cli, options)))
  verb('abandon', 'give a submission up that waits for ever; its rows go out again with the next run')
    .argument('<submission>', 'number of the submission', submissionId)
    .action(async (id: number, options: CommonOptions) => done(await abandon(cli, id, options)))
  verb('adopt', 'say which task an uncertain submission became')
    .argument('<submission>', 'number of the submission', submissionId)
    .argument('<correlation id>', 'of the task')
    .action(async (id: number, task: string, options: CommonOptions) => done(await adopt(cli, id, task, options)))
  verb('cancel', 'have the service cancel the task of a submission, if it has not begun')
    .argument('<submission>', 'number of the submission', submissionId)
    .action(async (id: number, options: CommonOptions) => done(await cancel(cli, id, options)))
  verb('approve', 'let through what the guard stopped a run over')
    .argument('<run>', 'the run that was held', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--dry-run', 'show what is held, and approve nothing')
    .action(async (runId: number, options: ApproveOptions) => done(await approve(cli, runId, options)))
  verb('accept-removals', 'remove what searches have shown as absent and the guard has kept')
    .option('--reason <code>', 'what stands for this reason only, whatever it is')
    .option('--partner-id <id>', 'of one hotel only')
    .option('--run <id>', 'what this run did not renew', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--all', 'everything that the guard has kept')
    .option('--dry-run', 'say what and how much, and remove nothing')
    .action(async (options: AcceptRemovalsOptions) => done(await acceptRemovals(cli, options)))
  verb('restore', 'bring back values and property values that were removed (for pull.keepRemovedDays)')
    .option('--run <id>', 'what this run removed', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--since <time>', 'removed since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--partner-id <id>', 'of one hotel only')
    .option('--all', 'everything that is kept')
    .option('--dry-run', 'say how much, and bring back nothing')
    .action(async (options: RestoreOptions) => done(await restore(cli, options)))
  verb('differences', 'what the service accepted and does not show as it was sent, of every kind of row')
    .option(
      '--kind <kind>',
      'absent, different, or foreign: there and never sent by us (default: absent and different)',
    )
    .option('--partner-id <id>', 'of one hotel only')
    .option('--since <time>', 'found since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--limit <count>', 'how many', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: DifferencesOptions) => done(await differences(cli, options)))
  verb('changes', 'values of calculators that the service shows otherwise than before (with pull.history)')
    .option(
      '--run <id>',
      'of this run (default: the last that loaded a search)',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option('--since <time>', 'stored since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
    .option('--partner-id <id>', 'of one hotel only, of all runs unless one is named')
    .option('--limit <count>', 'how many', wholeNumber(1, 10_000_000), 100)
    .option('--csv', 'print CSV instead of text')
    .action(async (options: ChangesOptions) => done(await changes(cli, options)))
  verb('drift', 'what is at the service and no longer in the partner database')
    .option('--stream <name>', 'of this stream only')
    .option('--limit <count>', 'how many', wholeNumber(1, 1_000_000), 100)
    .action(async (options: DriftOptions) => done(await drift(cli, options)))
  verb('reference', 'what is known of the service: frameworks, units, properties; since when, and what changed')
    .option('--changes', 'what the newest version changed, or what differs between two')
    .option('--from <version>', 'the earlier of the two', wholeNumber(0, 2 ** 31 - 1))
    .option('--to <version>', 'the later of the two', wholeNumber(1, 2 ** 31 - 1))
    .option('--accept', 'take what was withheld for holding too little, with the next run')
    .action(async (options: ReferenceOptions) => done(await reference(cli, options)))
  verb('sql', 'run a read-only query on the tables, or say how to connect')
    .argument('[query]', 'one statement; the views are found without their schema')
    .action(async (query: string | undefined, options: CommonOptions) => done(await sql(cli, query, options)))
  verb('grant', 'let a role of the database server read the views, and nothing else')
    .argument('<role>', 'an existing role')
    .option('--all', 'also the views that name people, or show rows as the partner had them')
    .option('--revoke', 'take it back')
    .action(async (role: string, options: GrantOptions) => done(await grant(cli, role, options)))
  verb('destination', 'the services, profiles and identifiers that rows were sent to, and which of them is in use')
    .addArgument(
      new Argument(
        '[decision]',
        'same: the configured one is the one in use, under a new name; other: it is another',
      ).choices(decisions),
    )
    .option('--name <name>', 'what to call it (default: the host of the service)')
    .action(async (decision: Decision | undefined, options: DestinationOptions) =>
      done(await destination(cli, decision, options)),
    )
  verb('migrate', 'bring the database to the newest schema').action(async (options: CommonOptions) =>
    done(await migrate(cli, options)),
  )
  addSandboxOptions(verb('sandbox', 'the service itself, for development, on loopback')).action(
    async (options: SandboxOptions) => done(await sandbox(cli, options)),
  )
  addConformanceOptions(verb('conformance', 'the specification against a deployment, statement by statement')).action(
    async (options: ConformanceOptions) => done(await conformance(cli, options)),
  )

  const config = program.command('config').description('the configuration')
  config
    .command('print')
    .description('the configuration in force, with secrets hidden')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting; repeatable', repeated)
    .option('--json', 'print JSON instead of YAML')
    .action((options: CommonOptions) => done(configPrint(cli, options)))
  return program
}
