import { chmod, mkdir, realpath, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import type { OpenDatabase } from '../../src/cli/open-database.ts'
import { openRehearsalPlace } from '../../src/cli/rehearsal-place.ts'
import { settings } from '../../src/config/schema.ts'
import { locationOf } from '../../src/embedded/initialise-data.ts'
import { type Cluster, openCluster } from '../../src/embedded/open-cluster.ts'
import { clusterFolder } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'

const isRoot = process.geteuid?.() === 0

/** The folder whose disk is asked for room, when a rehearsal copies a ledger that is in this cluster. */
async function measured(cluster: Cluster): Promise<string> {
  const said = new PassThrough().resume()
  const cli: Cli = {
    ...{ environment: {}, workingFolder: '/nowhere', stdout: said, stderr: said, now: () => new Date() },
    signal: new AbortController().signal,
  }
  const place = await openRehearsalPlace(cli, settings.parse({}), { cluster } as OpenDatabase, null)
  await place.leave(false)
  return realpath(place.folder ?? 'none')
}

const open = (folder: string) => openCluster({ folder, onNotice: () => {}, settings: fastSettings })

test.runIf(isRoot)('the room for a rehearsal is measured where root has placed the data', async () => {
  await using place = await clusterFolder()
  await chmod(place.parent, 0o700)
  const cluster = await open(place.folder)
  const home = (await locationOf(place.folder)) ?? 'none'
  expect(await measured(cluster)).toBe(join(home, 'data'))
  await cluster.release()
})

test('the room for a rehearsal is measured where the link of the data leads', async () => {
  await using place = await clusterFolder()
  const disk = join(place.parent, 'disk')
  await (await open(place.folder)).release()
  await mkdir(disk)
  await rename(place.data, join(disk, 'data'))
  await symlink(join(disk, 'data'), place.data)
  const cluster = await open(place.folder)
  expect(await measured(cluster)).toBe(join(disk, 'data'))
  await cluster.release()
})
