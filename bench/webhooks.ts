/**
 * How many webhooks are verified and stored a second, and how long each waits for its answer: node bench/webhooks.ts
 * [--rate 1000] [--seconds 20] [--json] [--quick]
 *
 * First at the rate, from the moment at which a delivery was due to its answer; then as fast as the receiver takes
 * them. The sender is a thread of its own. Brings its own PostgreSQL, with commits that reach the disk, and removes it.
 */
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { pino } from 'pino'
import { settings } from '../src/config/schema.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { startEngine } from '../src/jobs/engine.ts'
import { startWebhooks } from '../src/webhooks/start-webhooks.ts'
import { Opened } from './opened.ts'
import type { Load, Sent } from './send-webhooks.ts'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})
const rate = values.quick ? 200 : Number(values.rate)
const seconds = values.quick ? 2 : Number(values.seconds)

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const contract = loadContract(fileURLToPath(new URL('../config/contract.yaml', import.meta.url)))
const tasks = 2_000

await using opened = new Opened()
const cluster = await opened.server(await opened.folder('webhooks'))
await cluster.ensureDatabase('webhooks')
const url = cluster.url('webhooks')
await migrateToLatest(url)
const pool = createPool(url, {
  max: 2,
  applicationName: 'nightferry bench',
  searchPath: schemaName,
  onIdleError: () => {},
})
const correlationIds = await insertTasks(pool)
const config = settings.parse({ webhooks: { secrets: [secret], port: 0 } })
const engine = await startEngine(url, config, () => {})
const receiver = await startWebhooks(
  {
    config: config.webhooks,
    contract,
    looks: engine.looks,
    logger: pino({ level: 'silent' }),
    tellTrouble: () => {},
    now: () => new Date(),
  },
  url,
)
const load = {
  url: `${receiver.url}${config.webhooks.path}`,
  secret,
  correlationIds,
  topic: contract.webhookTopics.success,
}
// What runs for the first time is compiled meanwhile; a daemon has been up for days.
await send({ ...load, seconds: values.quick ? 1 : 8, rate: null })
const before = await counts(pool)
const used = process.threadCpuUsage()
const paced = await send({ ...load, seconds, rate })
const fastest = await send({ ...load, seconds: Math.min(seconds, 10), rate: null })
const sent = paced.answered + fastest.answered
const { user, system } = process.threadCpuUsage(used)
const receiverMicros = Math.round((user + system) / sent)
const stored = (await counts(pool)) - before
if (stored !== sent) throw new Error(`${sent} were answered with 204, and ${stored} are stored`)
await receiver.close()
await engine.stop()
await pool.end()
const machine = { processors: cpus().length, load: loadavg().map((one) => Math.round(one * 10) / 10) }
if (values.json) process.stdout.write(`${JSON.stringify({ rate, paced, fastest, receiverMicros, machine }, null, 2)}\n`)
else {
  process.stdout.write(`Offered ${rate} a second: ${words(paced)}\nAs fast as they are taken: ${words(fastest)}\n`)
  process.stdout.write(
    `${machine.processors} processors, load ${machine.load.join(' ')}. The receiver's thread used ${receiverMicros} µs for each, with the work on its event. All that were answered are stored.\n`,
  )
}

function words({ answered, refused, perSecond, p50, p99, max }: Sent): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  return `${answered} stored, ${Math.round(perSecond)} a second, ${refused} not; answered after ${ms(p50)} (median), ${ms(p99)} (p99), ${ms(max)} (longest)`
}

async function insertTasks(pool: ReturnType<typeof createPool>): Promise<string[]> {
  const { run_id } = await createDatabase(pool)
    .insertInto('run')
    .values({ job: 'nightly-sync', trigger: 'cli', scheduled_for: new Date(), state: 'running', step: 'push' })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  const { rows } = await pool.query<{ correlation_id: string }>(
    `insert into submission (run_id, kind, state, row_count, correlation_id)
     select $1, 'framework_answers', 'accepted', 1, gen_random_uuid()::text from generate_series(1, $2)
     returning correlation_id`,
    [run_id, tasks],
  )
  return rows.map(({ correlation_id }) => correlation_id)
}

async function counts(pool: ReturnType<typeof createPool>): Promise<number> {
  const { rows } = await pool.query<{ events: number }>('select count(*) as events from webhook_event')
  return rows[0]?.events ?? 0
}

function send(load: Load): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./send-webhooks.ts', import.meta.url), { workerData: load })
    worker.once('message', resolve).once('error', reject)
  })
}
