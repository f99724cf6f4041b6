import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { withoutSettings } from '../../config/environment.ts'
import { loadConfig } from '../../config/load-config.ts'
import { requireService } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { grouped } from '../../counted.ts'
import { createDatabase, createPool } from '../../db/database.ts'
import { schemaName } from '../../db/migrate-to-latest.ts'
import { lockDemo } from '../../demo/lock-demo.ts'
import { createPartnerDatabase } from '../../demo/partner/create-partner-database.ts'
import { addedHotelNumber, applySecondNight, type SecondNight } from '../../demo/partner/second-night.ts'
import type { Cluster } from '../../embedded/open-cluster.ts'
import { configuredDestination } from '../../pipeline/destination/check-destination.ts'
import { addKey, bindDestination, destinationInUse } from '../../pipeline/destination/find-destination.ts'
import { type Cli, type ExitCode, exitCodes, printJson, printLine, untilInterrupted } from '../cli.ts'
import { openEmbedded } from '../open-embedded.ts'
import { openFerry } from '../open-ferry.ts'
import { invocationFrom, mainFile, packagedConfig } from '../read-config.ts'
import { duration } from '../show/readable.ts'
import { untilSignal } from '../whole-process.ts'
import { consoleAsks } from './console.ts'
import { type RunEnded, runToEnd } from './run.ts'

export type DemoOptions = { hotels: number; seed: number; json?: boolean }

const databases = { partner: 'partner_demo', sandbox: 'sandbox_demo' } as const

/**
 * `nightferry demo`: everything on one machine. An embedded Postgres, the sandbox in a process of its own, a made-up
 * partner database, and two nights with some changes in between; then where to look.
 */
export async function demo(cli: Cli, options: DemoOptions): Promise<ExitCode> {
  const startedAt = cli.now()
  const config = loadConfig({ file: packagedConfig('demo.yaml'), environment: {} })
  cli.signal.addEventListener('abort', () => printLine(cli.stderr, 'Stopping what was started …'), { once: true })
  const cluster = await openEmbedded(cli, config)
  try {
    const own = [config.database.name, ...Object.values(databases)]
    await using _lock = await lockDemo(cluster.url('postgres'), own, cli.signal)
    printLine(cli.stderr, 'Postgres is up. Making a hotel group …')
    await untilSignal(cli, freshDatabases(cluster, own))
    const partnerUrl = cluster.url(databases.partner)
    await untilSignal(cli, makePartner(cli, partnerUrl, options))
    printLine(cli.stderr, 'The hotel group is made; making the service that it reports to …')
    const service = await startSandboxProcess(cli, options)
    try {
      const settings: Config = {
        ...config,
        exchange: { ...config.exchange, baseUrl: service.url },
        partner: { ...config.partner, url: partnerUrl },
        log: { level: 'warn' },
      }
      const nights = await twoNights(cli, settings, options, partnerUrl)
      try {
        if (options.json)
          printJson(
            cli.stdout,
            nights.map(({ document }) => document),
          )
        whereToLook(cli, startedAt)
        if (options.json !== true && cli.stdout.isTTY === true && cli.stderr.isTTY === true) await stayUp(cli, settings)
      } finally {
        await moveToItsAddress(cluster.url(config.database.name), config)
      }
      return nights.some(({ code }) => code === exitCodes.failed) ? exitCodes.failed : exitCodes.well
    } finally {
      await service.stop()
    }
  } finally {
    await cluster.release()
  }
}

async function freshDatabases(cluster: Cluster, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await cluster.dropDatabase(name)
    await cluster.ensureDatabase(name)
  }
}

async function makePartner(cli: Cli, url: string, { hotels, seed }: DemoOptions): Promise<void> {
  const pool = partnerPool(url)
  try {
    // An interrupted demo must not go on making rows: that would keep it from stopping the server.
    const onProgress = () => cli.signal.throwIfAborted()
    await createPartnerDatabase(pool, { hotels, seed, asOf: cli.now(), onProgress })
  } finally {
    await pool.end()
  }
}

const demoPool = { max: 2, applicationName: 'nightferry demo', onIdleError: () => {} }

function partnerPool(url: string) {
  return createPool(url, { ...demoPool, searchPath: 'public' })
}

async function twoNights(cli: Cli, config: Config, options: DemoOptions, partnerUrl: string): Promise<RunEnded[]> {
  const ferry = await openFerry(cli, config)
  try {
    heading(cli, `The first night: ${grouped(options.hotels)} hotels, everything is new`)
    const first = await runToEnd(cli, ferry, options.json === true ? () => {} : 'text')

    const day = await untilSignal(cli, dayBetween(cli, partnerUrl, options))
    heading(cli, 'The day in between, at the partner')
    printLine(cli.stderr, describeDay(day))

    heading(cli, 'The second night: only what changed')
    return [first, await runToEnd(cli, ferry, options.json === true ? () => {} : 'text')]
  } finally {
    await ferry.close()
  }
}

async function dayBetween(cli: Cli, partnerUrl: string, options: DemoOptions): Promise<SecondNight> {
  const pool = partnerPool(partnerUrl)
  try {
    return await applySecondNight(pool, { ...options, asOf: cli.now() })
  } finally {
    await pool.end()
  }
}

/**
 * The sandbox of the nights stood at a free port. People start it again at the address of `config/demo.yaml`, so the
 * ledger says that it is there: else their next run would take it for another service.
 */
async function moveToItsAddress(ledgerUrl: string, config: Config): Promise<void> {
  const configured = configuredDestination({ required: requireService(config) })
  const pool = createPool(ledgerUrl, { ...demoPool, searchPath: schemaName })
  try {
    const db = createDatabase(pool)
    const { destination_id: id } = await destinationInUse(db)
    await db.transaction().execute(async (trx) => {
      await bindDestination(trx, id, { ...configured, name: new URL(configured.origin).host })
      await addKey(trx, id, configured.fingerprint, 'certain', 'the demo made the service')
    })
  } finally {
    await pool.end()
  }
}

function describeDay(day: SecondNight): string {
  const parts: [readonly string[], string][] = [
    [day.renamed, 'renamed'],
    [day.moved, 'moved to another address'],
    [day.readingsCorrected, 'corrected a meter reading'],
    [day.answersChanged, 'changed an answer'],
    [day.added, 'new'],
    [day.rejectedByService, 'gave an answer that only the service can know to be wrong'],
    [day.invalidHere, 'gave an answer that is no number'],
  ]
  return parts.map(([ids, what]) => `  ${ids.join(', ')}: ${what}`).join('\n')
}

function whereToLook(cli: Cli, startedAt: Date): void {
  const { program, config } = invocationFrom(cli.workingFolder)
  const demoConfig = config('demo.yaml')
  heading(cli, `Done in ${duration(cli.now().getTime() - startedAt.getTime())}. Where to look`)
  const lines = [
    'Everything is in ordinary tables. Two queries to try:',
    '',
    `  ${program} sql --config ${demoConfig} "`,
    '    select name, partner_id, period_year, variable_name, value_numeric',
    '    from calculator_values join companies using (company_id)',
    `    where direction = 'output' and variable_name = 'Total (kg CO2e)' and period_month is null`,
    '    order by value_numeric desc limit 10"',
    '',
    `  ${program} sql --config ${demoConfig} "`,
    '    select period_year, period_month, title, variable_name, count(*) as hotels, sum(value_numeric) as total',
    '    from calculator_values join calculators using (calculator_id, period_year, period_month)',
    `    where direction = 'input' and period_month is not null`,
    '    group by 1, 2, 3, 4 order by 1, 2, 3, 4 limit 20"',
    '',
    `To connect with a client of your own: ${program} sql --config ${demoConfig}`,
    'prints the psql command and keeps the server up. Then status, runs, submissions, rejected, invalid,',
    `parked and trace H-0001, each with --config ${demoConfig}, say what happened.`,
  ]
  for (const line of lines) printLine(cli.stderr, line)
}

/** On a terminal somebody looks: the console stays up, over the service that was made, until Ctrl-C. */
async function stayUp(cli: Cli, config: Config): Promise<void> {
  const { withOwnConsole } = await import('./console.ts')
  const asks = await consoleAsks(cli, { config: packagedConfig('demo.yaml') }, config)
  await withOwnConsole(cli, config, asks, async (link) => {
    heading(cli, 'The console, in a browser')
    printLine(cli.stderr, `  ${link}\n\nThe link signs in once, within 5 minutes. Ctrl-C ends the demo.`)
    await untilInterrupted(cli)
  })
}

function heading(cli: Cli, text: string): void {
  printLine(cli.stderr, `\n── ${text} ${'─'.repeat(Math.max(4, 90 - text.length))}\n`)
}

/** Starts `nightferry sandbox` on a free port, as a process of its own, and waits until it answers. */
async function startSandboxProcess(cli: Cli, { hotels, seed }: DemoOptions) {
  const sandboxArguments = ['sandbox', '--config', packagedConfig('demo.yaml'), '--json', '--port', '0']
  const child = spawn(
    process.execPath,
    [
      mainFile,
      ...sandboxArguments,
      '--seed',
      String(seed),
      '--companies',
      String(addedHotelNumber(hotels)),
      '--database',
      databases.sandbox,
    ],
    // The channel tells the sandbox when this process is gone, however it went. Ctrl-C is for this process alone, which
    // stops its own work first: a service that went away at once would fail the run.
    {
      cwd: cli.workingFolder,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      detached: true,
      env: withoutSettings(cli.environment),
    },
  )
  const ended = once(child, 'exit')
  const said = await untilSignal(cli, firstDocument(child.stdout as Readable)).catch(async (error: unknown) => {
    // It has nothing yet that would have to end in order.
    child.kill('SIGKILL')
    await ended
    throw error
  })
  if (said === '') throw new Error('the sandbox ended before it answered; what it said stands above')
  const { url } = JSON.parse(said) as { url: string }
  return {
    url,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The JSON that a process prints first; empty when it ends without any. */
async function firstDocument(output: Readable): Promise<string> {
  let said = ''
  for await (const line of createInterface({ input: output })) {
    said += line
    if (line === '}') break
  }
  return said
}
