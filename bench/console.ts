/**
 * How long the API takes to answer what each page of the console asks:
 * node bench/console.ts [--rows 1000000] [--nights 1000] [--rounds 20] [--json] [--quick]
 *
 * Brings a PostgreSQL with a ledger of so many rows, ten of each hotel, and the values of as many hotels, and removes
 * it. Calls are made one after the other, as a page makes them. `--quick` shows that the benchmark works, not how fast
 * anything is. Fails when the 95th percentile of a call is over 300 ms.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { loadConfig } from '../src/config/load-config.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { locationOf } from '../src/embedded/data-home.ts'
import { openCluster } from '../src/embedded/open-cluster.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { buildHttpServer } from '../src/http/build-http-server.ts'
import type { HttpContext } from '../src/http/route.ts'
import { allRoutes } from '../src/http/routes/all-routes.ts'
import { fillTables } from './fill-tables.ts'
import { fillLedger } from './verbs-world.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    nights: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})
const rows = values.quick ? 10_000 : Number(values.rows)
const nights = values.quick ? 20 : Number(values.nights)
const rounds = values.quick ? 3 : Number(values.rounds)
const hotels = rows / 10
/** What the 95th percentile of a call may be. Milliseconds. */
const allowedMs = 300

const packaged = (name: string) => fileURLToPath(new URL(`../config/${name}`, import.meta.url))
const token = 'token-of-the-benchmark-of-the-console'
const hotel = 'H-0000042'

await using world = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'nightferry-console-bench-'))
world.defer(() => rm(folder, { recursive: true, force: true }))
const cluster = await openCluster({ folder, onNotice: () => {} })
world.defer(async () => {
  await cluster.release()
  const elsewhere = await locationOf(folder).catch(() => undefined)
  if (elsewhere !== undefined) await rm(elsewhere, { recursive: true, force: true })
})
await cluster.ensureDatabase('nightferry')
const url = cluster.url('nightferry')
await migrateToLatest(url)
process.stderr.write(`filling the ledger with ${rows} rows …\n`)
await fillLedger(url, rows)
const pool = createPool(url, { max: 3, applicationName: 'bench', searchPath: schemaName, onIdleError: () => {} })
world.defer(() => pool.end())
process.stderr.write(`filling the tables with the values of ${hotels} hotels …\n`)
// The tables bring mappings of their own.
await pool.query('delete from mapping')
await fillTables(pool, { calculators: hotels * 13, values: 6 })
await fillNights()
await pool.query('vacuum analyze')
const { rows: named } = await pool.query<{ variable_id: string; year: number }>(
  `select variable_id, (select max(period_year) from calculator) as year
   from calculator_variable order by variable_key limit 1`,
)

const config = loadConfig({ file: packaged('demo.yaml'), environment: { NIGHTFERRY_HTTP_TOKEN: token } })
const deps = {
  config,
  db: createDatabase(pool),
  contract: loadContract(packaged('contract.yaml')),
  now: () => new Date(),
}
const context = { deps, db: deps.db, conceal: (text: string) => text, asks: { settings: () => [] } }
const server = buildHttpServer(
  context as unknown as HttpContext,
  config.http,
  allRoutes(() => ({})),
)
world.defer(() => server.close())

const pages: Record<string, string[]> = {
  Tonight: ['/v1/tonight', '/v1/nights?limit=60'],
  'A night': ['/v1/nights?limit=100', '/v1/runs/500', '/v1/runs/1/waves', `/v1/runs/${nights}/live?limit=50`],
  Rows: ['rejected', 'parked', 'invalid', 'unknown'].flatMap((state) => [
    `/v1/rows?state=${state}&limit=100`,
    `/v1/rows/causes?state=${state}&limit=50`,
  ]),
  'A hotel': [
    `/v1/hotels/${hotel}`,
    `/v1/hotels/${hotel}/values`,
    `/v1/hotels/${hotel}/documents`,
    `/v1/changes?partnerId=${hotel}&limit=100`,
  ],
  Values: [
    '/v1/variables?limit=500',
    `/v1/variables/${named[0]?.variable_id}?direction=input&year=${named[0]?.year}&limit=20`,
  ],
  'The service': ['/v1/service?limit=50', '/v1/actions?limit=50'],
  'Doctor and settings': ['/v1/settings'],
}

const measured: { page: string; path: string; first: number; p50: number; p95: number }[] = []
for (const [page, paths] of Object.entries(pages)) {
  for (const path of paths) {
    const times = []
    for (let round = 0; round <= rounds; round++) {
      const began = performance.now()
      const answer = await server.inject({
        url: path,
        headers: { host: '127.0.0.1', authorization: `Bearer ${token}` },
      })
      times.push(performance.now() - began)
      if (answer.statusCode >= 500) throw new Error(`${path}: ${answer.body}`)
    }
    const [first = 0, ...rest] = times
    const sorted = rest.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
    measured.push({ page, path, first, p50: at(0.5), p95: at(0.95) })
  }
}
if (values.json) process.stdout.write(`${JSON.stringify({ rows, nights, hotels, measured }, null, 2)}\n`)
else {
  process.stdout.write(
    `${rows} ledger rows, ${nights} nights, ${hotels} hotels; ms of the first call, the median and the 95th percentile of ${rounds}\n`,
  )
  for (const { page, path, first, p50, p95 } of measured) {
    const times = [first, p50, p95].map((ms) => ms.toFixed(0).padStart(7)).join('')
    process.stdout.write(`${times}  ${page}: ${path}\n`)
  }
}
if (!values.quick && measured.some(({ p95 }) => p95 > allowedMs)) process.exitCode = 1

/** So many finished runs before the one of the ledger, each with a report like that of a night with a few remarks. */
async function fillNights(): Promise<void> {
  await pool.query(
    `insert into run (job, trigger, scheduled_for, state, step, verdict, started_at, finished_at, report)
     select 'nightly-sync', 'schedule', now() - n * interval '1 day', 'finished', 'report', 'partial',
            now() - n * interval '1 day', now() - n * interval '1 day' + interval '40 minutes',
            jsonb_build_object('remarks', jsonb_build_array('5 rows refused by the service.'), 'streams', (
              select jsonb_agg(jsonb_build_object('stream', 'stream ' || s, 'read', 1000, 'sent', 90, 'confirmed', 80,
                                                  'inferred', 5, 'rejected', 5, 'invalid', 0, 'parked', 3))
              from generate_series(1, 7) s), 'submissions', (
              select jsonb_agg(jsonb_build_object('submission_id', r, 'kind', 'calculators', 'correlation_id', md5(r::text)))
              from generate_series(1, 100) r))
     from generate_series($1::integer, 2, -1) n`,
    [nights],
  )
}
