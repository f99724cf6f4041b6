import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { parseDocument } from 'yaml'
import { loadConfig } from '../src/config/load-config.ts'
import { createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { createPartnerDatabase } from '../src/demo/partner/create-partner-database.ts'
import { addedHotelNumber } from '../src/demo/partner/second-night.ts'
import { locationOf } from '../src/embedded/initialise-data.ts'
import type { Cluster } from '../src/embedded/open-cluster.ts'
import { runningPostmaster, type ServerSettings } from '../src/embedded/start-server.ts'
import { bulkRequests } from '../src/exchange/contract.ts'
import { buildProgram } from './build-program.ts'
import type { Members } from './night-processors.ts'
import type { Opened } from './opened.ts'
import { startSandboxProcess } from './sandbox-process.ts'

export type Capture = 'cursor' | 'snapshot'

const demoFile = fileURLToPath(new URL('../config/demo.yaml', import.meta.url))

export type NightWorld = {
  hotels: number
  /** Of ours, of the partner, of the service. */
  own: pg.Client
  ownUrl: string
  partner: pg.Client
  partnerUrl: string
  sandbox: pg.Client
  serviceUrl: string
  configFile: string
  /** The built program. */
  script: string
  /** The partner's queries, by stream. */
  streams: Readonly<Record<string, string>>
  folder: string
  /** Who uses processors besides our own process. */
  members: Omit<Members, 'ours'>
}

const seed = 1
const databases = { partner: 'partner', sandbox: 'sandbox', own: 'nightferry' } as const

/** As the demo runs it, but that the service answers at once. */
const atOnce = [
  ...['--pending-ms', '0', '--scheduled-ms', '0', '--jitter', '0'],
  ...bulkRequests.flatMap((request) => ['--duration', `${request}=0ms`]),
]

/**
 * The demo's world with so many hotels: a server for Nightferry, one for the partner and one for the service, which is
 * a process of its own. All of it is gone when `opened` is closed.
 */
export async function openNightWorld(opened: Opened, hotels: number, capture: Capture): Promise<NightWorld> {
  const folder = await opened.folder('night')
  const configFile = capture === 'cursor' ? demoFile : await bySnapshot(folder)
  const script = await buildProgram(join(folder, 'program'), opened.signal)
  const config = loadConfig({ file: configFile, environment: {} })

  const partnerServer = await openServer(opened, join(folder, 'partner'))
  await partnerServer.cluster.ensureDatabase(databases.partner)
  const partnerUrl = partnerServer.cluster.url(databases.partner)
  await makePartner(partnerUrl, hotels)

  const sandboxFolder = join(folder, 'sandbox')
  const sandboxServer = await openServer(opened, join(sandboxFolder, 'postgres'))
  const options = ['--seed', String(seed), '--companies', String(addedHotelNumber(hotels))]
  const service = await startSandboxProcess(
    sandboxFolder,
    [...options, '--database', databases.sandbox, ...atOnce],
    script,
  )
  opened.defer(() => service.stop())

  const ownServer = await openServer(opened, join(folder, 'own'), {
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.max': '10000',
  })
  await ownServer.cluster.ensureDatabase(databases.own)
  const ownUrl = ownServer.cluster.url(databases.own)
  await migrateToLatest(ownUrl)
  const own = await openClient(opened, ownUrl)
  await workBefore(own, hotels)
  await own.query('create extension pg_stat_statements schema public')
  const rows = join(folder, 'rows')
  await mkdir(rows)

  const partner = await openClient(opened, partnerUrl)
  const sandbox = await openClient(opened, sandboxServer.cluster.url(databases.sandbox))
  return {
    hotels,
    own,
    ownUrl,
    partner,
    partnerUrl,
    sandbox,
    serviceUrl: service.url,
    configFile,
    script,
    streams: Object.fromEntries(
      Object.entries(config.streams).flatMap(([name, stream]) => (stream ? [[name, stream.query]] : [])),
    ),
    folder: rows,
    members: {
      database: { programs: [], servers: [ownServer.pid] },
      partner: { programs: [], servers: [partnerServer.pid] },
      service: { programs: [service.pid], servers: [sandboxServer.pid] },
    },
  }
}

/** About what a first night writes for a hotel, with its log; at most what the server lets its log grow to. Bytes. */
const writtenPerHotel = 100_000
const writtenAtMost = 1.5 * 2 ** 30

/**
 * A server that was made just now has to make the files of its log, and to touch its memory for the first time, while
 * the first rows come. The bare copies find both done, as a night does on a server that has worked before.
 */
async function workBefore(own: pg.Client, hotels: number): Promise<void> {
  const rows = Math.ceil(Math.min(hotels * writtenPerHotel, writtenAtMost) / 1000)
  await own.query(
    `create table public.work as select row, repeat(md5(row::text), 30) as text from generate_series(1, ${rows}) as row`,
  )
  await own.query('drop table public.work')
  await own.query('checkpoint')
}

/**
 * One hotel in a hundred changes: its name, the value of one answer and all its readings, as an import at the partner
 * would touch them.
 */
export async function changeOnePercent(partner: pg.Client): Promise<void> {
  await partner.query('begin')
  await partner.query(`update hotelier.hotel set name = name || '!', updated_at = now() where hotel_id % 100 = 7`)
  await partner.query(
    `update hotelier.meter_reading set value = round(value * 1.01) + 1, updated_at = now() where hotel_id % 100 = 7`,
  )
  await partner.query(
    `update hotelier.sustainability_answer answer
     set value = (value::numeric + case when value::numeric < 50 then 1 else -1 end)::text, updated_at = now()
     from (select hotel_id, min(data_point_id::text)::uuid as data_point_id from hotelier.sustainability_answer
           where hotel_id % 100 = 7 and value ~ '^[0-9]+$' group by hotel_id) chosen
     where answer.hotel_id = chosen.hotel_id and answer.data_point_id = chosen.data_point_id and answer.value ~ '^[0-9]+$'`,
  )
  await partner.query('commit')
}

type Server = { cluster: Cluster; pid: number }

async function openServer(opened: Opened, folder: string, settings: ServerSettings = {}): Promise<Server> {
  const cluster = await opened.server(folder, settings)
  const running = await runningPostmaster(join((await locationOf(folder)) ?? folder, 'data'))
  if (running === undefined) throw new Error(`no server runs in ${folder}`)
  return { cluster, pid: running.pid }
}

async function makePartner(url: string, hotels: number): Promise<void> {
  const pool = createPool(url, {
    max: 1,
    applicationName: 'nightferry bench',
    searchPath: 'public',
    onIdleError: () => {},
  })
  try {
    await createPartnerDatabase(pool, { hotels, seed, asOf: new Date() })
  } finally {
    await pool.end()
  }
}

async function openClient(opened: Opened, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schemaName},public` })
  client.on('error', () => {})
  await client.connect()
  opened.defer(() => client.end())
  return client
}

/** The demo's configuration with every stream read by snapshot: `--set` reaches no setting of a stream. */
async function bySnapshot(folder: string): Promise<string> {
  const document = parseDocument(await readFile(demoFile, 'utf8'))
  for (const name of Object.keys((document.toJS() as { streams: object }).streams)) {
    document.setIn(['streams', name, 'capture'], 'snapshot')
  }
  const file = join(folder, 'by-snapshot.yaml')
  await writeFile(file, document.toString())
  return file
}
