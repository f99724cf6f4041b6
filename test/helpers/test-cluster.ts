import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, livingMembers, ownIdentity } from '../../src/embedded/folder-lock.ts'
import { locationOf } from '../../src/embedded/initialise-data.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { dataFolder, dataFolders } from './data-folder.ts'

const prefix = 'nightferry-tests-'
/** Enough to look back at, few enough to have room: a cluster takes some 50 MB. */
const keptRuns = 3

/** Server settings that trade durability, which no test asks of this cluster, for speed. */
export const fastSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  shared_buffers: '128MB',
}

/** More of that for the one cluster that all test files share, which no standby follows. */
export const sharedSettings = {
  ...fastSettings,
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_prepared_transactions: '4',
  // Tests connect some thousand times, and each time both sides hash the password as often as this says.
  scram_iterations: '1',
  // With a hundred databases the server would visit one every half a second.
  autovacuum_naptime: '10min',
  // All data are in the cache of the system: a process that reads them for another one costs more than reading does.
  io_method: 'sync',
}

/** A run's folder: the cluster in `postgres`, and in `databases` a file per database that was not dropped yet. */
export async function makeRunFolder(): Promise<string> {
  const folder = join(dataFolder(), `${prefix}${ownIdentity()}`)
  await mkdir(join(folder, 'databases'), { recursive: true })
  // The server may run as another user, who must pass through.
  await chmod(folder, 0o755)
  return folder
}

/** Databases that their test files did not drop, each with the file that made it. */
export async function undroppedDatabases(folder: string): Promise<{ name: string; file: string }[]> {
  const names = await readdir(join(folder, 'databases'))
  return Promise.all(
    names.map(async (name) => ({ name, file: await readFile(join(folder, 'databases', name), 'utf8') })),
  )
}

/** Marks a run's folder as one to look at, so that the next run leaves it alone. */
export async function markKept(folder: string): Promise<void> {
  await writeFile(join(folder, 'kept'), '')
}

/** Stops what still runs in a run's folder and deletes it. Durability does not matter: the data go too. */
export async function removeRunFolder(folder: string): Promise<void> {
  const cluster = join(folder, 'postgres')
  const home = (await locationOf(cluster).catch(() => undefined)) ?? cluster
  const data = join(home, 'data')
  const running = await runningPostmaster(data)
  if (running !== undefined) {
    try {
      process.kill(running.pid, 'SIGQUIT')
    } catch (error) {
      // Another run sweeps the same folder, or it stopped by itself.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    while ((await runningPostmaster(data)) !== undefined) await delay(20)
  }
  for (const gone of [home, folder]) await rm(gone, { recursive: true, force: true, maxRetries: 10 })
}

/** Removes what killed runs left behind, and all but the newest kept ones that nobody is looking at. */
export async function sweepRunFolders(): Promise<void> {
  const kept: { folder: string; at: number }[] = []
  const found = await Promise.all(
    dataFolders.map(async (parent) => {
      const names = await readdir(parent).catch(() => [])
      return names.map((name) => join(parent, name))
    }),
  )
  for (const folder of found.flat()) {
    const name = basename(folder)
    if (!name.startsWith(prefix) || isAlive(name.slice(prefix.length))) continue
    const mark = await stat(join(folder, 'kept')).catch(() => undefined)
    if (mark !== undefined) kept.push({ folder, at: mark.mtimeMs })
    else await removeRunFolder(folder)
  }
  kept.sort((a, b) => b.at - a.at)
  for (const { folder } of kept.slice(keptRuns)) {
    if ((await livingMembers(join(folder, 'postgres'))).length === 0) await removeRunFolder(folder)
  }
}
