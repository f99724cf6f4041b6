import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { ask, clusterFolder, holdCluster } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'

const onNotice = () => {}

async function killPostmaster(data: string): Promise<number> {
  const running = await runningPostmaster(data)
  if (running === undefined) throw new Error(`no server runs on ${data}`)
  process.kill(running.pid, 'SIGKILL')
  await expect.poll(() => runningPostmaster(data), { timeout: 60_000, interval: 20 }).toBeUndefined()
  return running.pid
}

test('the embedded server keeps what was committed when the server is killed', async () => {
  await using place = await clusterFolder()
  const first = await openCluster({ folder: place.folder, onNotice })
  await ask(first.url('postgres'), 'create table hotel as select n from generate_series(1, 5000) n')
  await killPostmaster(place.data)
  const second = await openCluster({ folder: place.folder, onNotice })
  expect(second.startedHere).toBe(true)
  expect(await ask(first.url('postgres'), 'select count(*)::int as count from hotel')).toEqual([{ count: 5000 }])
  await first.release()
  await second.release()
  expect(await runningPostmaster(place.data)).toBeUndefined()
})

test('the embedded server starts again while a backend of the killed server is still busy', async () => {
  await using place = await clusterFolder()
  const first = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  const client = new pg.Client({ connectionString: first.url('postgres') })
  client.on('error', () => {})
  await client.connect()
  const busy = client.query('select count(*) from generate_series(1, 1e12::bigint)').catch((error: Error) => error)
  const active = `select count(*)::int as count from pg_stat_activity where state = 'active' and query like '%1e12%' and pid <> pg_backend_pid()`
  await expect.poll(() => ask(first.url('postgres'), active), { timeout: 60_000 }).toEqual([{ count: 1 }])
  await killPostmaster(place.data)
  const second = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  expect(await ask(second.url('postgres'), active)).toEqual([{ count: 0 }])
  expect(await busy).toBeInstanceOf(Error)
  await first.release()
  await second.release()
})

test('the embedded server starts although the process id of the killed server now belongs to another program of the same user', async () => {
  await using place = await clusterFolder()
  const first = holdCluster(place.folder)
  await first.opened
  const pid = await killPostmaster(place.data)
  await first.kill()
  const { uid, gid } = await stat(place.data)
  const other: ChildProcess = spawn('sleep', ['600'], { uid, gid, cwd: '/', stdio: 'ignore' })
  await once(other, 'spawn')
  const file = join(place.data, 'postmaster.pid')
  await writeFile(file, (await readFile(file, 'utf8')).replace(String(pid), String(other.pid)))
  const second = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  expect(second.startedHere).toBe(true)
  expect(other.exitCode).toBeNull()
  await second.release()
  other.kill()
  await once(other, 'exit')
})

test('the embedded server joins the server that outlived the process that started it, and stops it', async () => {
  await using place = await clusterFolder()
  const first = holdCluster(place.folder)
  const { url } = await first.opened
  await first.kill()
  expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
  const second = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  expect(second.startedHere).toBe(false)
  expect(second.url('postgres')).toBe(url)
  await second.release()
  expect(await runningPostmaster(place.data)).toBeUndefined()
})

test('the embedded server begins initdb again when it was killed in the middle', async () => {
  await using place = await clusterFolder()
  const first = holdCluster(place.folder)
  const unfinished = async () =>
    (await readdir(place.folder).catch(() => [])).filter((name) => name.startsWith('init-'))
  await expect.poll(unfinished, { timeout: 60_000, interval: 5 }).toHaveLength(1)
  await first.kill()
  await expect(stat(place.data)).rejects.toMatchObject({ code: 'ENOENT' })
  const second = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  expect(await ask(second.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
  await second.release()
})

test('whatever the instant at which the starting process is killed, the next one starts or joins', async () => {
  await using place = await clusterFolder()
  for (const delayMs of [250, 500, 750, 1000, 1250, 1500]) {
    const first = holdCluster(place.folder)
    // The instant of the kill is what is tried here, so it is taken from the clock and not from a state.
    const instant = AbortSignal.timeout(delayMs)
    await Promise.race([once(instant, 'abort'), once(first.process, 'exit')])
    await first.kill()
  }
  const cluster = await openCluster({ folder: place.folder, onNotice, settings: fastSettings })
  expect(await ask(cluster.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
  await cluster.release()
  expect(await runningPostmaster(place.data)).toBeUndefined()
})
