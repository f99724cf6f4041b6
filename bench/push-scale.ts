/**
 * How long the way from the partner's database to planned requests takes, and how much memory, beside a bare
 * `COPY … TO` of the same rows in the same run:
 * node bench/push-scale.ts [--properties 20000] [--answers 100000] [--rounds 3] [--capture cursor|snapshot]
 *
 * Brings its own PostgreSQL, for both sides, and removes it. Every stage is a process of its own (push-process.ts).
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { availableParallelism, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { Opened } from './opened.ts'
import type { Spent, Stage, Task } from './push-process.ts'

const { values } = parseArgs({
  options: {
    properties: { type: 'string', default: '20000' },
    answers: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    capture: { type: 'string' },
  },
})
const properties = Number(values.properties)
const answers = Number(values.answers)
const perProperty = Math.max(1, Math.round(answers / properties))
const rounds = Number(values.rounds)
const captures = (['cursor', 'snapshot'] as const).filter(
  (name) => values.capture === undefined || values.capture === name,
)

const columns = {
  properties: 'partner_id, name, street, latitude, longitude, country_code, airport_code, hotel_code, booking_id',
  framework_answers: 'partner_id, framework_id, period_type, year, month, data_point_id, value, value_type, unit_id',
}
const queries = {
  properties: `select code as partner_id, name, street, latitude, longitude, country_code, airport_code, hotel_code, booking_id,
                      updated_at from hotel`,
  framework_answers: `select code as partner_id, '8d5b3a52-3d0e-4f5e-9a5e-6f0b1d0c2a11'::uuid as framework_id, 'Yearly' as period_type,
                             year, null as month, data_point_id, value, 'number' as value_type, null as unit_id, updated_at
                      from answer`,
}

type Line = { what: string; seconds: number[]; rows: number; processor?: number; peak?: number }
const lines: Line[] = []

const started = promisify(execFile)
const child = fileURLToPath(new URL('./push-process.ts', import.meta.url))
await using opened = new Opened()
const cluster = await opened.server(await opened.folder('push'))
await cluster.ensureDatabase('partner')
const partner = new pg.Client({ connectionString: cluster.url('partner') })
partner.on('error', () => {})
await partner.connect()
try {
  await makeWorld(partner)
  await sayMachine(partner)
  for (const capture of captures) await measure(partner, capture)
} finally {
  await partner.end()
}
printTable()

/** Hotels and answers, made inside Postgres. Every hotel has as many answers, each of a data point of its own. */
async function makeWorld(partner: pg.Client): Promise<void> {
  await partner.query(`
    create table hotel as
    select 'H-' || n as code, 'Hotel number ' || n as name, n || ' Main Street' as street,
           (n % 90)::numeric(8, 5) + 0.12345 as latitude, (n % 180)::numeric(8, 5) + 0.5 as longitude,
           'DK' as country_code, 'CPH' as airport_code, 'HC' || n as hotel_code, n * 7 as booking_id,
           timestamptz '2026-01-01' + n * interval '1 second' as updated_at
    from generate_series(1, ${properties}::bigint) n`)
  await partner.query(`
    create table answer as
    select 'H-' || n as code, 2025 as year, md5('data point ' || point)::uuid as data_point_id,
           ((n * 31 + point) % 10000)::numeric / 10 as value,
           timestamptz '2026-01-01' + n * interval '1 second' + point * interval '1 millisecond' as updated_at
    from generate_series(1, ${properties}::bigint) n, generate_series(1, ${perProperty}::bigint) point`)
  for (const table of ['hotel', 'answer']) {
    await partner.query(`create index on ${table} (updated_at)`)
    await partner.query(`vacuum analyze ${table}`)
  }
}

async function measure(partner: pg.Client, capture: Task['capture']): Promise<void> {
  const database = `own_${capture}`
  await cluster.ensureDatabase(database)
  await migrateToLatest(cluster.url(database))
  const own = new pg.Client({ connectionString: cluster.url(database) })
  own.on('error', () => {})
  await own.connect()
  try {
    const idle = await stage(own, 'nothing', capture)
    note(`${capture}: idle process`, 0, idle)
    await bare(partner, capture)
    note(`${capture}: first extraction`, properties * (1 + perProperty), await stage(own, 'extract', capture))
    await own.query(`vacuum analyze ${schemaName}.source_row, ${schemaName}.acceptance, ${schemaName}.snapshot_line`)
    note(
      `${capture}: preflight of the first night`,
      properties * (1 + perProperty),
      await stage(own, 'preflight', capture),
    )
    note(`${capture}: planning of the first wave`, properties * (1 + perProperty), await stage(own, 'plan', capture))
    for (let round = 0; round < rounds; round++) {
      await bare(partner, capture)
      note(`${capture}: nothing changed`, properties * (1 + perProperty), await stage(own, 'extract', capture))
    }
    for (let round = 0; round < rounds; round++) {
      await partner.query(`update hotel set name = name || '!', updated_at = now() where booking_id / 7 % 100 = $1`, [
        round,
      ])
      await partner.query(
        `update answer set value = value + 1, updated_at = now() where right(code, 2) = lpad($1::text, 2, '0')`,
        [round + 10],
      )
      note(`${capture}: 1 % changed`, properties * (1 + perProperty), await stage(own, 'extract', capture))
    }
  } finally {
    await own.end()
  }
  await cluster.dropDatabase(database)
}

/** The same rows, read and thrown away. */
async function bare(partner: pg.Client, capture: Task['capture']): Promise<void> {
  const began = performance.now()
  for (const name of ['properties', 'framework_answers'] as const) {
    const copy = copyTo(`copy (select ${columns[name]} from (${queries[name]}) s) to stdout`)
    for await (const _ of partner.query(copy));
  }
  note(`${capture}: bare COPY … TO`, properties * (1 + perProperty), {
    seconds: (performance.now() - began) / 1000,
  })
}

async function stage(own: pg.Client, name: Stage, capture: Task['capture']): Promise<Spent> {
  if (name === 'extract' || name === 'nothing') await beginRun(own)
  const { rows } = await own.query<{ run_id: string }>(`select max(run_id) as run_id from ${schemaName}.run`)
  const task: Task = {
    stage: name,
    capture,
    runId: Number(rows[0]?.run_id),
    ownUrl: cluster.url(`own_${capture}`),
    partnerUrl: cluster.url('partner'),
    queries,
  }
  const { stdout } = await started(process.execPath, [child, JSON.stringify(task)], {
    env: { PATH: process.env.PATH },
    timeout: 3_600_000,
    signal: opened.signal,
  })
  return JSON.parse(stdout) as Spent
}

async function beginRun(own: pg.Client): Promise<void> {
  await own.query(`update ${schemaName}.run set state = 'finished'`)
  await own.query(
    `insert into ${schemaName}.run (job, trigger, scheduled_for, state, step) values ($1, 'cli', now(), 'running', 'extract')`,
    [randomUUID()],
  )
}

function note(what: string, rows: number, spent: Partial<Spent> & { seconds: number }): void {
  process.stderr.write(`${what}: ${spent.seconds.toFixed(2)} s\n`)
  const line = lines.find((known) => known.what === what) ?? { what, rows, seconds: [] }
  if (!lines.includes(line)) lines.push(line)
  line.seconds.push(spent.seconds)
  if (spent.processor !== undefined) line.processor = Math.max(line.processor ?? 0, spent.processor)
  if (spent.peak !== undefined) line.peak = Math.max(line.peak ?? 0, spent.peak)
}

async function sayMachine(partner: pg.Client): Promise<void> {
  const { rows } = await partner.query<{ server_version: string }>('show server_version')
  process.stdout.write(
    `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, PostgreSQL ${rows[0]?.server_version}, ` +
      `Node ${process.version}; ${grouped(properties)} properties, ${grouped(properties * perProperty)} answers\n`,
  )
}

function printTable(): void {
  const table = lines.map(({ what, seconds, rows, processor, peak }) => {
    const middle = median(seconds)
    const copied = median(lines.find((line) => line.what === `${what.split(':')[0]}: bare COPY … TO`)?.seconds ?? [])
    return [
      what,
      `${middle.toFixed(2)} s`,
      rows === 0 ? '' : grouped(Math.round(rows / middle)),
      rows === 0 ? '' : (middle / copied).toFixed(1),
      processor === undefined ? '' : `${processor.toFixed(1)} s`,
      peak === undefined ? '' : `${grouped(Math.round(peak / 1e6))} MB`,
      String(seconds.length),
    ]
  })
  const head = ['', 'time', 'rows/s', '× COPY', 'own processor time', 'peak RSS', 'of runs']
  const widths = head.map((cell, at) => Math.max(cell.length, ...table.map((line) => line[at]?.length ?? 0)))
  for (const line of [head, ...table]) {
    const cells = line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function grouped(number: number): string {
  return number.toLocaleString('en-GB')
}
