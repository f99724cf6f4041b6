import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type pg from 'pg'
import { pino } from 'pino'
import { requireSettings } from '../src/config/require-settings.ts'
import { settings } from '../src/config/schema.ts'
import { createDatabase, createPool, type Database } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { createExchangeClient } from '../src/exchange/client.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { makeRoomForRows } from '../src/heap.ts'
import { type Deps, sendingSetting } from '../src/pipeline/deps.ts'
import type { OutgoingRow } from '../src/pipeline/push/bodies.ts'
import { kinds } from '../src/pipeline/push/kinds.ts'
import { beginSending } from '../src/pipeline/push/sending/send.ts'
import { loadReferenceIndex } from '../src/pipeline/streams/rules/reference-index.ts'
import { memoryOf } from './memory.ts'
import { Opened } from './opened.ts'

// As every process that carries rows does.
makeRoomForRows()

/**
 * Memory and time of writing, storing and sending one body of 50,000 answers, streamed, beside holding it whole:
 * `node bench/send-body.ts --rows 50000`. Each way in a process of its own. Brings its own PostgreSQL and removes it.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '50000' },
    ways: { type: 'string', default: 'streamed,whole' },
    way: { type: 'string' },
    database: { type: 'string', default: '' },
    service: { type: 'string', default: '' },
    submission: { type: 'string', default: '0' },
  },
})

if (values.way === undefined) await measureAll(Number(values.rows))
else await sendOnce(values.way)

async function measureAll(rows: number): Promise<void> {
  await using opened = new Opened()
  const cluster = await opened.server(await opened.folder('bodies'))
  const received = { bytes: 0 }
  const server = createServer((request, response) => {
    received.bytes = 0
    request.on('data', (chunk: Buffer) => {
      received.bytes += chunk.length
    })
    request.on('end', () => response.end('{"correlationId":"0b6c2f4e-0000-4000-8000-000000000001"}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  opened.defer(() => server.close())
  await cluster.ensureDatabase('own')
  const database = cluster.url('own')
  await migrateToLatest(database)
  const pool = poolOf(database)
  for (const [texts, count] of [
    [1, 1],
    [2, Math.ceil(rows / 10)],
    [60, rows],
  ] as const) {
    for (const way of values.ways.split(',')) {
      const submission = await plan(pool, count, texts)
      const args = ['--way', way, '--database', database, '--service', service, '--submission', String(submission)]
      const child = fork(import.meta.filename, args)
      await once(child, 'close')
      process.stdout.write(`   ${count} answers, ${(received.bytes / 1e6).toFixed(1)} MB received\n`)
    }
  }
  await pool.end()
}

/** A planned submission of answers whose texts are so many hashes long, 32 characters each. */
async function plan(pool: pg.Pool, rows: number, texts: number): Promise<number> {
  await pool.query('truncate run, submission, submission_row, held_property, source_row, acceptance cascade')
  const { rows: made } = await pool.query<{ submission_id: number }>(`
    with started as (
      insert into run (job, trigger, scheduled_for, state, step)
      values ('nightly-sync', 'cli', now(), 'running', 'push') returning run_id)
    insert into submission (run_id, kind, state, row_count) select run_id, 'framework_answers', 'planned', ${rows} from started
    returning submission_id`)
  const submission = made[0]?.submission_id ?? 0
  await pool.query(`
    insert into source_row (stream, partner_id, row_key, content, desired_hash)
    select 'framework_answers', 'H-' || lpad((n / 10)::text, 6, '0'), n::text,
           jsonb_build_object('period_type', 'Yearly', 'year', '2025', 'month', '1', 'value_type', 'text',
             'data_point_id', md5(n::text)::uuid,
             'value', (select string_agg(md5(n || '-' || part), '') from generate_series(1, ${texts}) part)),
           decode(md5(n::text), 'hex')
    from generate_series(1, ${rows}) n`)
  await pool.query(`
    insert into acceptance (row_id, partner_id, wanted_hash)
    select row_id, partner_id, desired_hash from source_row order by row_id`)
  await pool.query(`insert into submission_row (submission_id, row_id) select ${submission}, row_id from source_row`)
  await pool.query('vacuum analyze source_row, acceptance, submission_row')
  return submission
}

async function sendOnce(way: string): Promise<void> {
  const pool = poolOf(values.database)
  const deps = depsOf(pool)
  const submission = await deps.db
    .selectFrom('submission')
    .selectAll()
    .where('submission_id', '=', Number(values.submission))
    .executeTakeFirstOrThrow()
  const before = memoryOf(process.pid, 'VmHWM')
  const start = performance.now()
  const body =
    way === 'streamed' ? await beginSending(deps, submission) : await wholeBody(deps, submission.submission_id)
  if (body === null) throw new Error('the submission was not planned')
  const written = performance.now()
  const peakWritten = memoryOf(process.pid, 'VmHWM')
  await deps.exchange.submit('frameworkAnswersUpsert', body)
  const sent = performance.now()
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  const peak = memoryOf(process.pid, 'VmHWM')
  process.stdout.write(
    `${way.padEnd(9)} written and stored ${seconds(written - start)}, sent ${seconds(sent - written)}, peak RSS ${megabytes(peak)} (${megabytes(peakWritten)} once stored, ${megabytes(before)} before)\n`,
  )
  await deps.exchange.close()
  await pool.end()
}

/** What was done before bodies were streamed: all rows, the body, and its compressed form in memory together. */
async function wholeBody({ db, contract, required }: Deps, submissionId: number): Promise<Buffer> {
  const rows = (await db
    .selectFrom('submission_row')
    .innerJoin('source_row', 'source_row.row_id', 'submission_row.row_id')
    .select(['stream', 'partner_id', 'content'])
    .where('submission_id', '=', submissionId)
    .orderBy('partner_id')
    .orderBy('source_row.row_id')
    .execute()) as unknown as OutgoingRow[]
  const reference = await loadReferenceIndex(db)
  const context = {
    contract,
    reference,
    customIdentifierId: sendingSetting({ required }, 'customIdentifierId'),
    groupId: null,
    partition: '',
  }
  const body = Buffer.from([...kinds.framework_answers.writeBody(rows, context)].join(''))
  const payload = await promisify(gzip)(body, { level: 3 })
  await store(db, submissionId, payload)
  return await promisify(gunzip)(payload)
}

async function store(db: Database, submissionId: number, piece: Buffer): Promise<void> {
  await db.insertInto('submission_payload').values({ submission_id: submissionId, ordinal: 1, piece }).execute()
}

function depsOf(pool: pg.Pool): Deps {
  const id = '00000000-0000-4000-8000-000000000001'
  const config = settings.parse({
    exchange: { baseUrl: values.service, apiKey: 'bench-key', customIdentifierId: id },
    partner: { url: values.database },
    streams: { framework_answers: { query: 'select', cursor: 'x' } },
  })
  const required = requireSettings(config)
  const contract = loadContract(join(import.meta.dirname, '../config/contract.yaml'))
  return {
    config,
    required,
    contract,
    pool,
    db: createDatabase(pool),
    exchange: createExchangeClient({ ...config.exchange, ...required, contract }),
    looks: { atRun: async () => {}, atSubmissions: async () => {}, atPages: async () => {} },
    endSearch: async () => {},
    logger: pino({ level: 'silent' }),
    tellTrouble: () => {},
    now: () => new Date(),
  }
}

function poolOf(url: string): pg.Pool {
  return createPool(url, { max: 4, applicationName: 'nightferry bench', searchPath: schemaName, onIdleError: () => {} })
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
