/**
 * How long the API takes to answer what each page of the console asks, and how soon each page paints:
 * node bench/console.ts [--rows 1000000] [--nights 1000] [--rounds 20] [--json] [--quick]
 *
 * Brings a PostgreSQL with a ledger of so many rows, ten of each hotel, and the values of as many hotels, and removes
 * it. Calls are made one after the other, as a page makes them: all that the pages make (console-calls.ts). Pages are
 * opened in the system's Chromium, each by a browser that has nothing of them yet. `--quick` shows that the benchmark
 * works, not how fast anything is. Fails when the 95th percentile of a call that a page waits for is over 300 ms, or
 * that of a first paint over 1 s.
 */
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { loadConfig } from '../src/config/load-config.ts'
import { requireSettings } from '../src/config/require-settings.ts'
import { settingsInForce } from '../src/config/show-config.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { createPartnerDatabase } from '../src/demo/partner/create-partner-database.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { buildHttpServer } from '../src/http/build-http-server.ts'
import type { HttpContext } from '../src/http/route.ts'
import { allRoutes } from '../src/http/routes/all-routes.ts'
import type { Deps } from '../src/pipeline/deps.ts'
import { destinationChange } from '../src/pipeline/destination/check-destination.ts'
import { consoleCalls } from './console-calls.ts'
import { fillNights } from './console-nights.ts'
import { paintPages } from './console-paint.ts'
import { fillTables } from './fill-tables.ts'
import { Opened } from './opened.ts'
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
/** What the 95th percentile of a call that a page waits for may be, and that of a first paint. Milliseconds. */
const allowedMs = { call: 300, paint: 1_000 }

const packaged = (name: string) => fileURLToPath(new URL(`../config/${name}`, import.meta.url))
const token = 'token-of-the-benchmark-of-the-console'
const hotel = 'H-0000042'

await using world = new Opened()
const cluster = await world.server(await world.folder('console'))
await cluster.ensureDatabase('nightferry')
const url = cluster.url('nightferry')
await migrateToLatest(url)
const pool = createPool(url, { max: 3, applicationName: 'bench', searchPath: schemaName, onIdleError: () => {} })
world.defer(() => pool.end())
await cluster.ensureDatabase('partner')
const environment = {
  NIGHTFERRY_HTTP_TOKEN: token,
  PARTNER_DATABASE_URL: cluster.url('partner'),
  // Nobody listens there: what is measured calls no service.
  EXCHANGE_BASE_URL: 'http://127.0.0.1:9',
}
const partnerPool = createPool(environment.PARTNER_DATABASE_URL, {
  max: 1,
  applicationName: 'bench',
  searchPath: 'public',
  onIdleError: () => {},
})
await createPartnerDatabase(partnerPool, { hotels: 100, seed: 7, asOf: new Date() })
await partnerPool.end()
const file = packaged('demo.yaml')
const config = loadConfig({ file, environment })
const deps = {
  config,
  required: requireSettings(config),
  pool,
  db: createDatabase(pool),
  contract: loadContract(packaged('contract.yaml')),
  logger: pino({ level: 'error' }),
  now: () => new Date(),
}
// While nothing was sent yet: the ledger is one of this service.
await destinationChange(deps as unknown as Deps, 'leave')
process.stderr.write(`filling the ledger with ${rows} rows …\n`)
await fillLedger(url, rows)
process.stderr.write(`filling the tables with the values of ${hotels} hotels …\n`)
// The tables bring mappings of their own.
await pool.query('delete from mapping')
await fillTables(pool, { calculators: hotels * 13, values: 6 })
await fillNights(pool, { nights, hotels })
await pool.query('vacuum analyze')
const { rows: named } = await pool.query<{ variable_id: string; year: number }>(
  `select variable_id, (select max(period_year) from calculator) as year
   from calculator_variable order by variable_key limit 1`,
)

const asked = { hotel, run: nights, variable: named[0]?.variable_id ?? '', year: named[0]?.year ?? 0 }
if (asked.variable === '') throw new Error('the tables have no variable')

const asks = { settings: () => settingsInForce(config, { file, environment, overrides: [] }) }
const context = { deps, db: deps.db, conceal: (text: string) => text, asks, stopping: new AbortController().signal }
const server = buildHttpServer(
  context as unknown as HttpContext,
  config.http,
  allRoutes(() => ({})),
)
world.defer(() => server.close())

type Measured = { page: string; call: string; answers: string; first: number; p50: number; p95: number }
const summed = (times: number[]) => {
  const [first = 0, ...rest] = times
  const sorted = rest.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { first, p50: at(0.5), p95: at(0.95) }
}

/** Makes a call, and says how long it took. Nothing waits for approval here, which is an answer, too. */
async function ask(method: 'GET' | 'POST', url: string, body?: object) {
  const began = performance.now()
  const answer = await server.inject({
    url,
    method,
    headers: { host: '127.0.0.1', authorization: `Bearer ${token}` },
    ...(body !== undefined && { payload: body }),
  })
  const ms = performance.now() - began
  if (answer.statusCode >= 400 && !answer.body.includes('nothing_to_approve')) {
    throw new Error(`${method} ${url}: ${answer.body}`)
  }
  return { ms, status: answer.statusCode, plan: answer.json<{ plan?: number }>().plan }
}

/** Asks for a plan as the page does, until it is there. @returns how long that took in milliseconds. */
async function untilMade(url: string, plan: number, times: number[]): Promise<number> {
  const began = performance.now()
  for (;;) {
    const { ms, status } = await ask('POST', url, { plan })
    times.push(ms)
    if (status === 200) return performance.now() - began
    await setTimeout(1_000)
  }
}

const measured: Measured[] = []
for (const { page, method, urls, body, answers } of consoleCalls) {
  if (answers === 'not measured') continue
  for (const url of urls(asked)) {
    const times: number[] = []
    const whole: number[] = []
    // What says that it takes a while is asked a few times only.
    for (let round = 0; round <= (answers === 'said' ? Math.min(rounds, 3) : rounds); round++) {
      const { ms, status, plan } = await ask(method, url, body)
      times.push(ms)
      if (status === 202 && plan !== undefined) whole.push(await untilMade(url, plan, times))
      // One after another, and each is as long as the others.
      if (whole.length > 1) break
    }
    measured.push({ page, call: `${method} ${url}`, answers, ...summed(times) })
    if (whole.length > 0) {
      measured.push({ page, call: `${method} ${url}, until it is there`, answers: 'said', ...summed(whole) })
    }
  }
}

const painted = await paintPages(server, { token, asked, rounds: values.quick ? 1 : 5 })
const paints = painted.map(({ page, first, data }) => ({
  page,
  paint: summed([0, ...first]),
  data: summed([0, ...data]),
}))

if (values.json) process.stdout.write(`${JSON.stringify({ rows, nights, hotels, measured, paints }, null, 2)}\n`)
else {
  const columns = (...times: number[]) => times.map((ms) => ms.toFixed(0).padStart(7)).join('')
  process.stdout.write(
    `${rows} ledger rows, ${nights} nights, ${hotels} hotels; ms of the first call, the median and the 95th percentile of ${rounds}\n`,
  )
  for (const { page, call, answers, first, p50, p95 } of measured) {
    const said = answers === 'said' ? ' (the page says that it takes a while)' : ''
    process.stdout.write(`${columns(first, p50, p95)}  ${page}: ${call}${said}\n`)
  }
  process.stdout.write('ms to the first paint, median and 95th percentile, and to all data of the page, the same\n')
  for (const { page, paint, data } of paints) {
    process.stdout.write(`${columns(paint.p50, paint.p95, data.p50, data.p95)}  ${page}\n`)
  }
}
const slow = measured.some(({ answers, p95 }) => answers === 'soon' && p95 > allowedMs.call)
if (!values.quick && (slow || paints.some(({ paint }) => paint.p95 > allowedMs.paint))) process.exitCode = 1
