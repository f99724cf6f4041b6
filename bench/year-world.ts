import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { mkdir, readlink, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { createPartnerDatabase } from '../src/demo/partner/create-partner-database.ts'
import { addedHotelNumber } from '../src/demo/partner/second-night.ts'
import { locationOf } from '../src/embedded/initialise-data.ts'
import type { Cluster } from '../src/embedded/open-cluster.ts'
import { runProgram } from '../src/embedded/run-program.ts'
import { runningPostmaster } from '../src/embedded/start-server.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { buildProgram } from './build-program.ts'
import { createLeapingClock, type LeapingClock } from './leaping-clock.ts'
import type { Opened } from './opened.ts'
import { startSandboxProcess } from './sandbox-process.ts'

export type YearWorld = {
  clock: LeapingClock
  own: pg.Client
  partner: pg.Client
  /** The folder of the server that holds our database. */
  ownFolder: string
  ownServer: number
  daemon: ChildProcess & { pid: number }
  logFile: string
  /** Calls the administration of the service. */
  administer: (method: string, path: string, body: object) => Promise<unknown>
}

const seed = 1
const secretKey = 'demo-key'

/**
 * A server for Nightferry, one for partner and service, the service, and `serve`: all but the service's timers go by
 * one clock.
 */
export async function openYearWorld(opened: Opened, hotels: number, settings: readonly string[]): Promise<YearWorld> {
  const folder = await opened.folder('year')
  const clock = createLeapingClock(join(folder, 'clock'))
  const script = await buildProgram(join(folder, 'program'), opened.signal)

  const theirFolder = join(folder, 'theirs')
  const theirs = await openServer(opened, join(theirFolder, 'postgres'), clock)
  await theirs.cluster.ensureDatabase('partner')
  const partnerUrl = theirs.cluster.url('partner')
  await makePartner(partnerUrl, hotels)
  const options = ['--seed', String(seed), '--companies', String(addedHotelNumber(hotels)), '--database', 'sandbox']
  const webhooks = ['--allow-insecure-webhooks', '--webhook-dispatch-ms', '200']
  const service = await startSandboxProcess(theirFolder, [...options, ...webhooks], script, clock.environment)
  opened.defer(() => service.stop())
  const administer = async (method: string, path: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${service.url}/sandbox${path}`, {
      method,
      headers: { authorization: secretKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return await answer.json()
  }

  const ours = await openServer(opened, join(folder, 'own'), clock)
  await ours.cluster.ensureDatabase('nightferry')
  const ownUrl = ours.cluster.url('nightferry')
  await migrateToLatest(ownUrl)
  const own = await openClient(opened, ownUrl)
  const partner = await openClient(opened, partnerUrl)

  const contractFile = fileURLToPath(new URL('../config/contract.yaml', import.meta.url))
  const { test: _, ...topics } = loadContract(contractFile).webhookTopics
  const port = await freePort()
  const hook = { url: `http://127.0.0.1:${port}/webhooks`, topics: Object.values(topics) }
  const { secret } = (await administer('POST', '/webhooks', hook)) as { secret: string }
  const work = join(folder, 'work')
  await mkdir(work)
  const logFile = join(folder, 'serve.log')
  const log = openSync(logFile, 'a')
  const child = spawn(process.execPath, [script, 'serve', ...configured([...settings, `webhooks.port=${port}`])], {
    cwd: work,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: ownUrl,
      PARTNER_DATABASE_URL: partnerUrl,
      EXCHANGE_BASE_URL: service.url,
      EXCHANGE_WEBHOOK_SECRET: secret,
      ...clock.environment,
    },
    // The channel ends the daemon with this process, however that goes.
    stdio: ['ignore', log, log, 'ipc'],
  })
  opened.defer(() => stop(child))
  if (child.pid === undefined) throw new Error('serve did not start')
  const daemon = Object.assign(child, { pid: child.pid })
  return {
    clock,
    own,
    partner,
    ownFolder: ours.home,
    ownServer: ours.pid,
    daemon,
    logFile,
    administer,
  }
}

function configured(settings: readonly string[]): string[] {
  const file = fileURLToPath(new URL('../config/demo.yaml', import.meta.url))
  return ['--config', file, ...settings.flatMap((setting) => ['--set', setting])]
}

/** A server that goes by the clock: it is started as ever, and again with the clock in its environment. */
async function openServer(
  opened: Opened,
  folder: string,
  clock: LeapingClock,
): Promise<{ cluster: Cluster; home: string; pid: number }> {
  const cluster = await opened.server(folder)
  const home = (await locationOf(folder)) ?? folder
  const data = join(home, 'data')
  const { uid, gid } = await stat(data)
  const account = uid === process.geteuid?.() ? undefined : { uid, gid, name: `user ${uid}` }
  const pgCtl = join(dirname(await readlink(`/proc/${(await postmasterOf(data)).pid}/exe`)), 'pg_ctl')
  const variables = Object.entries(clock.environment).map(([name, value]) => `${name}=${value}`)
  const restart = [pgCtl, 'restart', '-D', data, '-m', 'fast', '-w', '-l', join(home, 'server.log')]
  const { status, output } = await runProgram('env', [...variables, ...restart], account)
  if (status !== 0) throw new Error(`the server did not start by the other clock: ${output}`)
  return { cluster, home, pid: (await postmasterOf(data)).pid }
}

async function postmasterOf(data: string): Promise<{ pid: number }> {
  const running = await runningPostmaster(data)
  if (running === undefined) throw new Error(`no server runs in ${data}`)
  return running
}

async function makePartner(url: string, hotels: number): Promise<void> {
  const pool = createPool(url, { max: 1, applicationName: 'nightferry bench', searchPath: 'public', onIdleError() {} })
  try {
    await createPartnerDatabase(pool, { hotels, seed, asOf: new Date() })
  } finally {
    await pool.end()
  }
}

async function openClient(opened: Opened, url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'nightferry bench',
    options: `-c search_path=${schemaName},public`,
  })
  client.on('error', () => {})
  await client.connect()
  opened.defer(() => client.end())
  return client
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** SIGTERM, and what follows if the process does not answer to it. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const late = new AbortController()
  void delay(20_000, undefined, { signal: late.signal })
    .then(() => child.kill('SIGKILL'))
    .catch(() => {})
  await ended
  late.abort()
}
