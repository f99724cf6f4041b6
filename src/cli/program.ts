import { Command, InvalidArgumentError } from 'commander'
import { type ApproveOptions, approve } from './approve.ts'
import type { Cli, CommonOptions, ExitCode } from './cli.ts'
import { configPrint } from './config-print.ts'
import { type DemoOptions, demo } from './demo.ts'
import { type DriftOptions, drift } from './drift.ts'
import { migrate } from './migrate.ts'
import { type RejectedOptions, rejected } from './rejected.ts'
import { run } from './run.ts'
import { type RunsOptions, runs } from './runs.ts'
import { type SandboxOptions, sandbox } from './sandbox.ts'
import { serve } from './serve.ts'
import { sql } from './sql.ts'
import { status } from './status.ts'
import { type SubmissionsOptions, submissions } from './submissions.ts'

/** The command line: one verb per file; each ends with an exit code, which `done` is told. */
export function createProgram(cli: Cli, version: string, done: (code: ExitCode) => void): Command {
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
      .option('--set <setting=value...>', 'override a setting, such as exchange.pollIntervalMs=5000')
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
  verb('status', 'the last run and the ledger at a glance').action(async (options: CommonOptions) =>
    done(await status(cli, options)),
  )
  verb('runs', 'the newest runs and their verdicts')
    .option('--limit <count>', 'how many', wholeNumber(1, 10_000), 20)
    .action(async (options: RunsOptions) => done(await runs(cli, options)))
  verb('submissions', 'the requests of a run')
    .option('--run <id>', 'which run (default: the last)', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action(async (options: SubmissionsOptions) => done(await submissions(cli, options)))
  verb('rejected', 'rows that were refused, are invalid, or whose fate is unknown, with the reasons')
    .option('--limit <count>', 'how many', wholeNumber(1, 1_000_000), 100)
    .action(async (options: RejectedOptions) => done(await rejected(cli, options)))
  verb('approve', 'let through what the guard stopped a run over')
    .argument('<run>', 'the run that was held', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--dry-run', 'show what is held, and approve nothing')
    .action(async (runId: number, options: ApproveOptions) => done(await approve(cli, runId, options)))
  verb('drift', 'what is at the service and no longer in the partner database')
    .option('--stream <name>', 'of this stream only')
    .option('--limit <count>', 'how many', wholeNumber(1, 1_000_000), 100)
    .action(async (options: DriftOptions) => done(await drift(cli, options)))
  verb('sql', 'run a read-only query on the tables, or say how to connect')
    .argument('[query]', 'one statement; the views are found without their schema')
    .action(async (query: string | undefined, options: CommonOptions) => done(await sql(cli, query, options)))
  verb('migrate', 'bring the database to the newest schema').action(async (options: CommonOptions) =>
    done(await migrate(cli, options)),
  )
  verb('sandbox', 'the service itself, for development, on loopback')
    .option('--port <port>', 'port to listen on; 0: any free one', wholeNumber(0, 65_535), 4710)
    .option('--seed <number>', 'which made-up world', wholeNumber(0, 2 ** 31 - 1), 1)
    .option('--companies <count>', 'how many companies it knows', wholeNumber(0, 10_000_000), 202)
    .option('--page-size <count>', 'companies per page of a search', wholeNumber(1, 100_000))
    .option('--database <name>', 'database of the embedded server that holds its state', 'sandbox')
    .action(async (options: SandboxOptions) => done(await sandbox(cli, options)))

  const config = program.command('config').description('the configuration')
  config
    .command('print')
    .description('the configuration in force, with secrets hidden')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value...>', 'override a setting')
    .option('--json', 'print JSON instead of YAML')
    .action((options: CommonOptions) => done(configPrint(cli, options)))
  return program
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`A whole number from ${min} to ${max} is wanted.`)
  }
}
