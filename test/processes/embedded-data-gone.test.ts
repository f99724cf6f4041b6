import { chmod, lstat, mkdir, readdir, readFile, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { nightferry } from '../cli/nightferry-process.ts'
import { ask, clusterFolder } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'

const isRoot = process.geteuid?.() === 0
const onNotice = () => {}

type Place = Awaited<ReturnType<typeof clusterFolder>>

const open = ({ folder }: Place) => openCluster({ folder, onNotice, settings: fastSettings })

/** A cluster that holds something, stopped; its data lie in `data.away`, and what is passed makes what is in place. */
async function withDataAway(place: Place, make: (data: string) => Promise<unknown>): Promise<Buffer> {
  const cluster = await open(place)
  await ask(cluster.url('postgres'), 'create table kept as select 1 as one')
  await cluster.release()
  await rename(place.data, `${place.data}.away`)
  await make(place.data)
  return readFile(join(place.folder, 'password'))
}

test.each<[string, (data: string) => Promise<unknown>, (data: string) => Promise<unknown>]>([
  ['nothing is in their place', async () => {}, async () => {}],
  ['a link in their place leads nowhere', (data) => symlink(`${data}.nowhere`, data), rm],
  ['an empty folder is in their place', (data) => mkdir(data), rmdir],
  [
    'a folder of a disk is in their place',
    (data) => mkdir(join(data, 'lost+found'), { recursive: true }),
    async () => {},
  ],
])('data that are gone are missed, and neither begun again nor locked up, where %s', async (_, take, giveBack) => {
  await using place = await clusterFolder()
  const password = await withDataAway(place, take)
  const refused = await nightferry(place.parent, ['status', '--set', `database.folder=${place.parent}`])
  expect(refused.code, refused.stderr).toBe(1)
  expect(refused.stderr).toMatch(/^nightferry: embedded_postgres_failed: /m)
  expect(refused.stderr).toContain(`${place.data}, are gone`)
  expect(refused.stderr).toContain(`move ${place.folder} away to begin with an empty database`)
  expect(await readFile(join(place.folder, 'password'))).toEqual(password)
  await giveBack(place.data)
  await rm(place.data, { recursive: true, force: true })
  await rename(`${place.data}.away`, place.data)
  const again = await open(place)
  expect(await ask(again.url('postgres'), 'select one from kept')).toEqual([{ one: 1 }])
  await again.release()
})

test('data that are gone are named by the doctor, who takes them for none that were never made', async () => {
  await using place = await clusterFolder()
  const password = await withDataAway(place, (data) => symlink(`${data}.nowhere`, data))
  const { stdout, stderr } = await nightferry(place.parent, ['doctor', '--set', `database.folder=${place.parent}`])
  expect(stdout, stderr).toContain(`${place.data}, are gone`)
  expect(await readFile(join(place.folder, 'password'))).toEqual(password)
})

test.runIf(isRoot)('data that are gone are not begun elsewhere when their folder was closed meanwhile', async () => {
  await using place = await clusterFolder()
  await withDataAway(place, (data) => symlink(`${data}.nowhere`, data))
  await chmod(place.parent, 0o700)
  await expect(open(place)).rejects.toThrow('are gone')
  expect(await readdir(place.folder)).not.toContain('location.txt')
})

test('data of a server whose start was not written down are missed when they are gone', async () => {
  await using place = await clusterFolder()
  const first = await open(place)
  // As if the process had been killed before it wrote down that the server runs: another one joins it.
  await rm(join(place.folder, 'port'))
  const second = await open(place)
  for (const cluster of [first, second]) await cluster.release()
  await rename(place.data, `${place.data}.away`)
  await expect(open(place)).rejects.toThrow('are gone')
})

test('a password that is there is the one of the data that are made for it', async () => {
  await using place = await clusterFolder()
  await mkdir(place.folder)
  // What a process leaves that is killed just before the data appear.
  await writeFile(join(place.folder, 'password'), 'kept-from-before\n', { mode: 0o600 })
  const cluster = await open(place)
  expect(new URL(cluster.url('postgres')).password).toBe('kept-from-before')
  expect(await ask(cluster.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
  expect((await lstat(join(place.folder, 'password'))).mode & 0o777).toBe(0o600)
  await cluster.release()
})
