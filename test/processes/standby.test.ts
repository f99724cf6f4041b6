import { execFile } from 'node:child_process'
import { appendFile, chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { streamReports } from '../../src/db/runs/report-rows.ts'
import { type Cluster, openCluster } from '../../src/embedded/open-cluster.ts'
import { noticesOf } from '../../src/pipeline/report/notices.ts'
import { clusterFolder } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'
import { testPool } from '../helpers/test-pool.ts'
import { extractNow, propertiesQuery } from '../pipeline/delta/partner.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

const onNotice = () => {}
const query = propertiesQuery.replace(', number, day, local', '')

let ferry: Ferry
let places: Awaited<ReturnType<typeof clusterFolder>>[]
let primary: Cluster
let standby: Cluster
let pool: pg.Pool

/** A primary, and a standby made from a copy of its files that follows it over the network. */
beforeAll(async () => {
  ferry = await openFerry()
  const [one, two] = [await clusterFolder(), await clusterFolder()]
  places = [one, two]
  const settings = { ...fastSettings, shared_buffers: '16MB' }
  const first = await openCluster({ folder: one.folder, onNotice, settings })
  await first.release()
  await mkdir(two.folder)
  await chmod(two.folder, 0o755)
  await promisify(execFile)('cp', ['-a', one.data, join(one.folder, 'password'), two.folder])
  primary = await openCluster({ folder: one.folder, onNotice, settings })
  const { port, username, password } = new URL(primary.url('postgres'))
  await appendFile(
    join(two.data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password}'\n`,
  )
  const signal = join(two.data, 'standby.signal')
  await writeFile(signal, '')
  const { uid, gid } = await stat(two.data)
  await chown(signal, uid, gid)
  standby = await openCluster({ folder: two.folder, onNotice, settings })
  pool = testPool(primary.url('postgres'), 3)
  await pool.query('create table hotel (code text, name text, at timestamptz)')
}, 120_000)
beforeEach(async () => {
  await ferry.clear()
  await pool.query('truncate hotel')
})
afterAll(async () => {
  await pool.end()
  await standby.release()
  await primary.release()
  for (const place of places) await place[Symbol.asyncDispose]()
  await ferry.close()
})

const hotel = (code: string, at: string) => pool.query('insert into hotel values ($1, $1, $2)', [code, at])
/** Reads the standby once it has replayed what the primary has done. */
async function night(overlapMs = 600_000): Promise<number> {
  const { rows } = await pool.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')
  const asked = new pg.Client({ connectionString: standby.url('postgres') })
  await asked.connect()
  try {
    const replayed = async () =>
      (await asked.query<{ there: boolean }>('select pg_last_wal_replay_lsn() >= $1::pg_lsn as there', [rows[0]?.lsn]))
        .rows[0]?.there
    await expect.poll(replayed, { timeout: 60_000, interval: 20 }).toBe(true)
  } finally {
    await asked.end()
  }
  return await extractNow(ferry, { url: standby.url('postgres') }, { properties: { query } }, { overlapMs })
}
const report = async (run: number) =>
  await ferry.ledger.db.transaction().execute((trx) => streamReports(trx, run, { properties: [] }))
const landed = async () =>
  (await ferry.ledger.db.selectFrom('source_row').select('partner_id').orderBy('partner_id').execute()).map(
    ({ partner_id }) => partner_id,
  )

test('a standby is not taken for a server that shows the open transactions, and the report says so', async () => {
  await hotel('H-1', '2026-01-01T00:00:00Z')
  const streams = await report(await night())
  expect(streams).toMatchObject([{ stream: 'properties', protection: 'overlap', lacks: 'standby' }])
  expect(noticesOf(streams)).toContainEqual(expect.stringMatching(/is a standby.*of properties, .*partner\.overlapMs/))
})

test('a row that its primary commits late is found by the overlap, or else by the next full comparison', async () => {
  await hotel('H-1', '2026-01-01T00:00:00Z')
  const late = await pool.connect()
  try {
    await late.query('begin')
    await late.query(
      `insert into hotel values ('late', 'late', '2026-01-01T23:55:00Z'), ('later', 'later', '2026-01-01T12:00:00Z')`,
    )
    await hotel('H-2', '2026-01-02T00:00:00Z')
    await night()
    expect(await landed()).toEqual(['H-1', 'H-2'])
    await late.query('commit')
  } finally {
    late.release()
  }
  await night()
  expect(await landed()).toEqual(['H-1', 'H-2', 'late'])
  await ferry.ledger.pool.query(`update stream_reading set whole_at = whole_at - interval '7 days'`)
  const streams = await report(await night())
  expect(streams).toMatchObject([{ whole: 'due', changed: 1, gone: 0 }])
  expect(await landed()).toEqual(['H-1', 'H-2', 'late', 'later'])
})

test('a standby that becomes the primary is another server to Nightferry: everything is read and compared', async () => {
  await hotel('H-1', '2026-01-01T00:00:00Z')
  await night()
  const client = new pg.Client({ connectionString: standby.url('postgres') })
  await client.connect()
  try {
    await client.query('select pg_promote()')
    await client.query('checkpoint')
    await client.query(`update hotel set name = 'written after the switch'`)
  } finally {
    await client.end()
  }
  const partner = { url: standby.url('postgres') }
  const run = await extractNow(ferry, partner, { properties: { query } })
  expect(await report(run)).toMatchObject([{ protection: 'transactions', lacks: null, whole: 'server', changed: 1 }])
  expect(await report(await extractNow(ferry, partner, { properties: { query } }))).toMatchObject([{ whole: null }])
})
