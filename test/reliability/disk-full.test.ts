import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { nightferry } from '../cli/nightferry-process.ts'
import { ask, clusterFolder } from '../db/fixtures/cluster-process.ts'
import type { FinalTables } from '../helpers/final-tables.ts'
import { atOnce, calmTables, expectSameNight, smallNight } from './small-night.ts'

const run = promisify(execFile)

/** Enough for a server with the tables of a small night. */
const diskMb = 320

/**
 * A disk of its own, so that filling it hurts nobody else. Needs the right to mount, which root has.
 * @param files how many it holds at most, as `mount` takes it; 0: as many as fit.
 */
async function smallDisk(files = '0'): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'nightferry-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m,mode=755,nr_inodes=${files}`, 'tmpfs', path])
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await run('umount', [path])
      await rm(path, { recursive: true, force: true })
    },
  }
}

/** Fills the disk but for so many bytes. */
async function fill(folder: string, file: string, leave: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  await writeFile(file, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
}

/** From a disk on which nothing fits any more to one on which the night nearly does. Bytes. */
const rooms = [0, 1024 * 1024, 16 * 1024 * 1024]

let calm: FinalTables

beforeAll(async () => {
  calm = await calmTables()
})

test.each(rooms)(
  'a night whose disk is full but for %i bytes says so, and the next one ends as if it had not been',
  async (room) => {
    await using disk = await smallDisk()
    await using night = await smallNight()
    const folder = join(disk.path, 'postgres')
    const ballast = join(disk.path, 'ballast')
    const cluster = await openCluster({ folder, onNotice: () => {} })
    try {
      await cluster.ensureDatabase('own')
      const environment = { DATABASE_URL: cluster.url('own') }
      const migrated = await night.start({
        ...environment,
        PARTNER_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      }).ended
      expect(migrated, migrated.stderr).toMatchObject({ code: 1 })
      await fill(disk.path, ballast, room)
      const full = await night.start(environment).ended
      expect(full.code, full.stderr).toBe(1)
      expect(full.stderr).toMatch(/disk_full|database_unreachable/)
      await rm(ballast)
      await cluster.ensureRunning()
      const next = await night.start(environment).ended
      expect(next, next.stderr).toMatchObject({ code: 0 })
      const pool = createPool(cluster.url('own'), {
        max: 1,
        applicationName: 'nightferry tests',
        searchPath: schemaName,
        onIdleError: () => {},
      })
      try {
        await expectSameNight(night, calm, atOnce, pool)
      } finally {
        await pool.end()
      }
    } finally {
      await cluster.release()
    }
  },
)

/** Fills the disk so that no folder can be made on it any more. */
async function fillWithFiles(folder: string): Promise<void> {
  await mkdir(join(folder, 'ballast'))
  const fillOn = async (count: number): Promise<void> => {
    await writeFile(join(folder, 'ballast', String(count)), '')
    await fillOn(count + 1)
  }
  await expect(fillOn(0)).rejects.toMatchObject({ code: 'ENOSPC' })
}

test('a ledger on a full disk is to be moved, by a message that warns of an empty one, and is whole at its new place', async () => {
  await using place = await clusterFolder()
  await using disk = await smallDisk('2k')
  const former = join(disk.path, 'nightferry')
  const first = await openCluster({ folder: join(former, 'postgres'), onNotice: () => {} })
  await ask(first.url('postgres'), 'create table kept as select 1 as one')
  await first.release()
  await fillWithFiles(disk.path)
  const full = await nightferry(disk.path, ['status', '--set', `database.folder=${former}`])
  expect(full.code, full.stderr).toBe(1)
  expect(full.stderr).toMatch(/embedded_postgres_failed: .* cannot be used: ENOSPC/)
  expect(full.stderr).toContain('Another database.folder or DATABASE_URL begins an empty ledger')
  expect(full.stderr).toContain(`move ${former}, whole, and then set database.folder`)
  await run('cp', ['-a', former, join(place.parent, 'new')])
  const moved = await openCluster({ folder: join(place.parent, 'new', 'postgres'), onNotice: () => {} })
  expect(await ask(moved.url('postgres'), 'select one from kept')).toEqual([{ one: 1 }])
  await moved.release()
})

test('a server that does not start on a full disk is no reason to begin an empty ledger unwarned', async () => {
  await using disk = await smallDisk()
  const folder = join(disk.path, 'nightferry', 'postgres')
  const options = { folder, onNotice: () => {} }
  await (await openCluster(options)).release()
  await fill(disk.path, join(disk.path, 'ballast'), 0)
  await expect(openCluster(options)).rejects.toThrow(
    /did not start .*DATABASE_URL or another database\.folder begins an empty ledger/,
  )
})
