import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { pino } from 'pino'
import { settings } from '../src/config/schema.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { locationOf } from '../src/db/embedded/data-home.ts'
import { openCluster } from '../src/db/embedded/open-cluster.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate.ts'
import { extract } from '../src/pipeline/delta/extract.ts'
import type { Deps } from '../src/pipeline/deps.ts'

/**
 * Rows a second of the extraction, beside a bare `COPY … TO` of the same rows in the same run:
 * `node bench/snapshot-compare.ts --rows 1000000`. Brings its own PostgreSQL and removes it.
 */
const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
})
const count = Number(values.rows)
const rounds = Number(values.rounds)

const query = `
  select code as partner_id, name, street, latitude, longitude, country_code, airport_code, hotel_code, booking_id, updated_at
  from hotel`
const columns = 'partner_id, name, street, latitude, longitude, country_code, airport_code, hotel_code, booking_id'

const folder = await mkdtemp(join(tmpdir(), 'nightferry-bench-'))
const cluster = await openCluster({ folder, onNotice: console.error })
try {
  await cluster.ensureDatabase('partner')
  await cluster.ensureDatabase('own')
  await migrateToLatest(cluster.url('own'))
  const partner = new pg.Client({ connectionString: cluster.url('partner') })
  await partner.connect()
  await partner.query(`
    create table hotel as
    select 'H-' || n as code, 'Hotel number ' || n as name, n || ' Main Street' as street,
           (n % 90)::numeric(8, 5) + 0.12345 as latitude, (n % 180)::numeric(8, 5) + 0.5 as longitude,
           'DK' as country_code, 'CPH' as airport_code, 'HC' || n as hotel_code, n * 7 as booking_id,
           timestamptz '2026-01-01' + n * interval '1 second' as updated_at
    from generate_series(1, ${count}::bigint) n`)
  await partner.query('create index on hotel (updated_at)')
  await partner.query('vacuum analyze hotel')

  const bare = async () => {
    let bytes = 0
    const seconds = await timed(async () => {
      for await (const chunk of partner.query(copyTo(`copy (select ${columns} from (${query}) s) to stdout`))) {
        bytes += (chunk as Buffer).length
      }
    })
    say(`bare COPY … TO (${Math.round(bytes / 1e6)} MB)`, seconds)
  }

  for (const capture of ['snapshot', 'cursor'] as const) {
    const pool = createPool(cluster.url('own'), {
      max: 4,
      applicationName: 'nightferry bench',
      searchPath: schemaName,
      onIdleError: () => {},
    })
    await pool.query('truncate run, source_row, stream_watermark, snapshot_line, snapshot_bucket cascade')
    const night = async (what: string) => {
      const run = await startRun(pool)
      const seconds = await timed(() => extract(depsOf(pool, capture), run))
      const { rows } = await pool.query('select read, changed, gone from run_stream where run_id = $1', [run.run_id])
      say(`${capture}: ${what}`, seconds, rows[0] as { read: number; changed: number; gone: number })
    }
    await night('first extraction')
    await pool.query('vacuum analyze source_row, snapshot_line, snapshot_bucket')
    for (let round = 0; round < rounds; round++) {
      await bare()
      await night('unchanged night')
    }
    await partner.query(`update hotel set name = name || '!', updated_at = now() where booking_id % 700 = 0`)
    await night('a hundredth changed')
    await partner.query(`delete from hotel where booking_id % 7000 = 7`)
    await night('after deletions')
    await pool.end()
  }
  await partner.end()
} finally {
  await cluster.release()
  // Started by root, the cluster lies elsewhere.
  const elsewhere = await locationOf(folder).catch(() => undefined)
  for (const gone of [elsewhere ?? folder, folder]) await rm(gone, { recursive: true, force: true })
}

function depsOf(pool: pg.Pool, capture: 'snapshot' | 'cursor'): Deps {
  const config = settings.parse({
    guard: { minRows: 1_000_000_000 },
    partner: { overlapMs: 600_000 },
    streams: { properties: { query, capture, cursor: 'updated_at' } },
  })
  const required = { partnerUrl: cluster.url('partner') }
  return {
    config,
    required,
    pool,
    db: createDatabase(pool),
    logger: pino({ level: 'silent' }),
    now: () => new Date(),
  } as Deps
}

async function startRun(pool: pg.Pool) {
  const db = createDatabase(pool)
  await db.updateTable('run').set({ state: 'finished' }).execute()
  return await db
    .insertInto('run')
    .values({ job: randomUUID(), trigger: 'cli', scheduled_for: new Date(), state: 'running', step: 'extract' })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

function say(what: string, seconds: number, counts?: { read: number; changed: number; gone: number }): void {
  const rows = counts?.read ?? count
  const said = counts === undefined ? '' : `  read ${counts.read}, changed ${counts.changed}, gone ${counts.gone}`
  const memory = `${Math.round(process.resourceUsage().maxRSS / 1024)} MB peak RSS`
  console.log(
    `${what.padEnd(32)} ${seconds.toFixed(2).padStart(7)} s  ${Math.round(rows / seconds)
      .toLocaleString('en-GB')
      .padStart(10)} rows/s  ${memory}${said}`,
  )
}
