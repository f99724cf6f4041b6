import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { ask, clusterFolder, holdCluster } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'

const onNotice = () => {}

test('runs PostgreSQL 18 with checksums, UTF-8, locale C and durable commits', async () => {
  await using place = await clusterFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice })
  await cluster.ensureDatabase('hotels "by" night')
  const [row] = await ask(
    cluster.url('hotels "by" night'),
    `select current_setting('server_version_num')::int / 10000 as major, current_setting('data_checksums') as checksums,
            current_setting('server_encoding') as encoding, datcollate as collation, current_setting('fsync') as fsync,
            current_setting('full_page_writes') as pages, current_setting('synchronous_commit') as commits,
            current_setting('timezone') as zone, datname as name
       from pg_database where datname = current_database()`,
  )
  expect(row).toEqual({
    major: 18,
    checksums: 'on',
    encoding: 'UTF8',
    collation: 'C',
    fsync: 'on',
    pages: 'on',
    commits: 'on',
    zone: 'UTC',
    name: 'hotels "by" night',
  })
  await cluster.release()
  await cluster.release()
  expect(await runningPostmaster(place.data)).toBeUndefined()
})

test('the embedded server listens on 127.0.0.1 alone and lets nobody in without the password', async () => {
  await using place = await clusterFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  const url = new URL(cluster.url('postgres'))
  expect((await stat(join(place.folder, 'password'))).mode & 0o777).toBe(0o600)
  expect(await ask(url.href, `select current_setting('listen_addresses') as addresses`)).toEqual([
    { addresses: '127.0.0.1' },
  ])
  expect(await ask(url.href, `select current_setting('unix_socket_directories') as sockets`)).toEqual([{ sockets: '' }])
  expect(await ask(url.href, 'select distinct auth_method from pg_hba_file_rules')).toEqual([
    { auth_method: 'scram-sha-256' },
  ])
  url.password = 'wrong'
  await expect(ask(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
  await cluster.release()
})

test('a second process joins, and the last to release stops the server', async () => {
  await using place = await clusterFolder()
  const first = holdCluster(place.folder)
  const { url, startedHere } = await first.opened
  expect(startedHere).toBe(true)
  const second = holdCluster(place.folder)
  expect(await second.opened).toEqual({ url, startedHere: false })
  expect(await first.release()).toBe(0)
  expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
  expect(await second.release()).toBe(0)
  expect(await runningPostmaster(place.data)).toBeUndefined()
  expect(await readFile(join(place.folder, 'server.log'), 'utf8')).toContain('database system is shut down')
})

test('one process may open a cluster twice, and the server stops with the second release', async () => {
  await using place = await clusterFolder()
  const options = { folder: place.folder, onNotice, settings: fastSettings }
  const [one, other] = await Promise.all([openCluster(options), openCluster(options)])
  expect([one.startedHere, other.startedHere].filter(Boolean)).toHaveLength(1)
  await one.release()
  expect(await ask(other.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
  await other.release()
  expect(await runningPostmaster(place.data)).toBeUndefined()
})

test('four processes that start at once on an empty folder end with one cluster', async () => {
  await using place = await clusterFolder()
  const holders = Array.from({ length: 4 }, () => holdCluster(place.folder))
  const opened = await Promise.all(holders.map((holder) => holder.opened))
  expect(new Set(opened.map(({ url }) => url)).size).toBe(1)
  expect(opened.filter(({ startedHere }) => startedHere)).toHaveLength(1)
  expect(await Promise.all(holders.map((holder) => holder.release()))).toEqual([0, 0, 0, 0])
  expect(await runningPostmaster(place.data)).toBeUndefined()
})

test('the embedded server creates a database once when many ask for it at the same time', async () => {
  await using place = await clusterFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  await Promise.all(Array.from({ length: 5 }, () => cluster.ensureDatabase('nightferry')))
  const databases = `select count(*)::int as count from pg_database where datname = 'nightferry'`
  expect(await ask(cluster.url('postgres'), databases)).toEqual([{ count: 1 }])
  await cluster.release()
})

test('the embedded server keeps its port from start to start, and takes another when that is taken', async () => {
  await using place = await clusterFolder()
  const options = { folder: place.folder, onNotice, settings: fastSettings }
  const first = await openCluster(options)
  const url = first.url('postgres')
  await first.release()
  const second = await openCluster(options)
  expect(second.url('postgres')).toBe(url)
  await second.release()
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(Number(new URL(url).port), '127.0.0.1', resolve))
  const third = await openCluster(options)
  expect(new URL(third.url('postgres')).port).not.toBe(new URL(url).port)
  expect(await ask(third.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
  await third.release()
  await new Promise((resolve) => other.close(resolve))
})

test('the embedded server says what the server log says when a setting is wrong', async () => {
  await using place = await clusterFolder()
  const opening = openCluster({ folder: place.folder, onNotice, settings: { shared_buffers: 'plenty' } })
  await expect(opening).rejects.toMatchObject({ code: 'embedded_postgres_failed' })
  await expect(opening).rejects.toThrow(/invalid value for parameter "shared_buffers": "plenty"/)
})

test('the embedded server refuses data that another major version made', async () => {
  await using place = await clusterFolder()
  await mkdir(place.data, { recursive: true })
  await writeFile(join(place.data, 'PG_VERSION'), '15\n')
  await expect(openCluster({ folder: place.folder, onNotice })).rejects.toThrow(/made by PostgreSQL 15/)
})

test('the embedded server ends the transactions of others cleanly when it stops', async () => {
  await using place = await clusterFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  const client = new pg.Client({ connectionString: cluster.url('postgres') })
  const lost = new Promise<Error>((resolve) => client.on('error', resolve))
  await client.connect()
  await client.query('begin')
  await cluster.release()
  expect(await lost).toMatchObject({ code: '57P01' })
})
