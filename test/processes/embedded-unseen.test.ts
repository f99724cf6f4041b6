import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { ask, clusterFolder, type Holder, holdCluster } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'

const isRoot = process.geteuid?.() === 0

/** Root of a container may not look into the processes of others; in a user namespace nobody may look outside. */
const blind = isRoot
  ? ['setpriv', '--bounding-set', '-sys_ptrace', '--inh-caps', '-sys_ptrace']
  : ['unshare', '--user', '--map-current-user']

/** What `ProtectProc=invisible` and `ProcSubset=pid` of the packaged unit leave of /proc. */
const mountProc = 'mount -t proc -o hidepid=invisible,subset=pid,gid=4711 proc /proc && exec "$@"'
const asInUnit = ['unshare', '--mount', 'sh', '-c', mountProc, 'sh', ...blind]

function works([program = '', ...args]: string[]): boolean {
  return spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status === 0
}

const canBlind = process.platform === 'linux' && works(blind)
const canBlindAsRoot = canBlind && isRoot
const canHide = canBlindAsRoot && works(asInUnit)

const holdBlind = (folder: string): Holder => holdCluster(folder, fastSettings, blind)
const holdInUnit = (folder: string): Holder => holdCluster(folder, fastSettings, asInUnit)

async function killServer(data: string): Promise<number> {
  const { pid } = (await runningPostmaster(data)) ?? { pid: 0 }
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => runningPostmaster(data), { interval: 20 }).toBeUndefined()
  return pid
}

test.runIf(canBlind)(
  'a process that may not look into the embedded server joins it, and as the last one stops it',
  async () => {
    await using place = await clusterFolder()
    const first = holdCluster(place.folder)
    const { url } = await first.opened
    const server = await runningPostmaster(place.data)
    const second = holdBlind(place.folder)
    expect(await second.opened).toEqual({ url, startedHere: false })
    expect(await runningPostmaster(place.data)).toEqual(server)
    expect(await first.release()).toBe(0)
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(await second.release()).toBe(0)
    expect(await runningPostmaster(place.data)).toBeUndefined()
  },
)

test.runIf(canBlindAsRoot)(
  'root that may not look into the backends of a killed server ends them and starts it',
  async () => {
    await using place = await clusterFolder()
    const first = holdCluster(place.folder)
    const { url } = await first.opened
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    const busy = client.query('select count(*) from generate_series(1, 1e12::bigint)').catch((error: Error) => error)
    const active = `select count(*)::int as count from pg_stat_activity where state = 'active' and query like '%1e12%' and pid <> pg_backend_pid()`
    await expect.poll(() => ask(url, active)).toEqual([{ count: 1 }])
    await killServer(place.data)
    const second = holdBlind(place.folder)
    expect(await second.opened).toEqual({ url, startedHere: true })
    expect(await busy).toBeInstanceOf(Error)
    expect(await first.release()).toBe(0)
    expect(await second.release()).toBe(0)
  },
)

test.runIf(canHide).each([
  ['the packaged unit', 'a verb by hand', holdInUnit, holdCluster],
  ['a verb by hand', 'the packaged unit', holdCluster, holdInUnit],
])(
  'an embedded server that %s started is joined by %s, which leaves it running',
  async (_first, _second, hold, enter) => {
    await using place = await clusterFolder()
    const first = hold(place.folder)
    const { url } = await first.opened
    const second = enter(place.folder)
    expect(await second.opened).toEqual({ url, startedHere: false })
    expect(await second.release()).toBe(0)
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(await first.release()).toBe(0)
    expect(await runningPostmaster(place.data)).toBeUndefined()
  },
)

test.runIf(canHide)(
  'the packaged unit starts the embedded server although a process that it cannot see has the process id of the killed one',
  async () => {
    await using place = await clusterFolder()
    const first = holdCluster(place.folder)
    await first.opened
    const pid = await killServer(place.data)
    await first.kill()
    const { uid, gid } = await stat(place.data)
    const other: ChildProcess = spawn('sleep', ['600'], { uid, gid, cwd: '/', stdio: 'ignore' })
    await once(other, 'spawn')
    const file = join(place.data, 'postmaster.pid')
    await writeFile(file, (await readFile(file, 'utf8')).replace(String(pid), String(other.pid)))
    const second = holdInUnit(place.folder)
    expect((await second.opened).startedHere).toBe(true)
    expect(other.exitCode).toBeNull()
    expect(await second.release()).toBe(0)
    other.kill()
    await once(other, 'exit')
  },
)
