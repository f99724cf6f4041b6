import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { ask, clusterFolder } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'
import { demoConfig } from '../helpers/world.ts'

test('openFerry stops the embedded server when the queue cannot be opened', async () => {
  await using place = await clusterFolder()
  await using folder = await workingFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
  await cluster.ensureDatabase('nightferry_demo')
  const client = new pg.Client({ connectionString: cluster.url('nightferry_demo') })
  await client.connect()
  await client.query('create schema nightferry_queue; create table nightferry_queue.version (not_what_it_was int)')
  await client.end()
  await cluster.release()

  const ended = await nightferry(folder.path, [
    'run',
    'nightly-sync',
    '--config',
    demoConfig,
    '--set',
    `database.folder=${join(place.folder, '..')}`,
  ])
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(await runningPostmaster(place.data)).toBeUndefined()
}, 180_000)

test('openDatabase stops the embedded server when the database cannot be made', async () => {
  await using place = await clusterFolder()
  await using folder = await workingFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
  // As a full disk does, it has every new database refused.
  await ask(cluster.url('postgres'), `update pg_database set datistemplate = false where datname = 'template1'`)
  await ask(cluster.url('postgres'), 'drop database template1')
  await cluster.release()

  const set = ['--set', `database.folder=${join(place.folder, '..')}`]
  const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig, ...set])
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('template database "template1"') })
  expect(await runningPostmaster(place.data)).toBeUndefined()
}, 180_000)
