import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { unusedPort } from '../exchange/fault-server.ts'
import { dataFolder } from '../helpers/data-folder.ts'
import { debianPostgres, serverUser } from './programs.ts'

const execute = promisify(execFile)
const user = serverUser()
const account = { ...user, cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' } }

export type DebianServer = AsyncDisposable & {
  port: number
  /** Of the server's user, and gone with it. */
  folder: string
  /** The address of a database, as a superuser. */
  url(database: string): string
  /** Runs a program of its version, such as pg_dump, to its end. */
  run(name: string, ...args: string[]): Promise<string>
  /** A standby that has streamed everything so far; the primary's commits wait until it has written them. */
  standby(): Promise<DebianServer>
  /** As if its machine had lost power: nothing is written, nobody is told. */
  kill(): Promise<void>
  /** Makes a standby the primary. */
  promote(): Promise<void>
}

/** A PostgreSQL of Debian's, on a free port of loopback, in a folder of its own. */
export async function startDebianServer(): Promise<DebianServer> {
  const { data, folder } = await emptyFolder()
  await run('initdb', '--pgdata', data, '--auth=trust', '--username=nightferry', '--encoding=UTF8', '--no-sync')
  return await serverIn(folder, data)
}

async function emptyFolder(): Promise<{ folder: string; data: string }> {
  const folder = await mkdtemp(join(dataFolder(), 'nightferry-server-'))
  await chmod(folder, 0o755)
  if (user !== undefined) await chown(folder, user.uid, user.gid)
  return { folder, data: join(folder, 'data') }
}

function run(name: string, ...args: string[]): Promise<string> {
  return execute(join(debianPostgres().bin, name), args, { ...account, maxBuffer: 2 ** 28 }).then(
    ({ stdout }) => stdout,
  )
}

async function serverIn(folder: string, data: string): Promise<DebianServer> {
  const port = await unusedPort()
  await appendFile(
    join(data, 'postgresql.conf'),
    [
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      "unix_socket_directories = ''",
      'fsync = off',
      'max_connections = 100',
      'wal_keep_size = 256MB',
      '',
    ].join('\n'),
  )
  const process = spawn(join(debianPostgres().bin, 'postgres'), ['-D', data], {
    ...account,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [process.stdout, process.stderr])
    stream.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8')
    })
  const ended = once(process, 'exit')
  const url = (database: string) => `postgres://nightferry@127.0.0.1:${port}/${database}`
  const standbys: DebianServer[] = []
  const kill = async () => {
    // The postmaster alone: its backends notice within a moment, and write no more than a machine that is gone.
    process.kill('SIGKILL')
    await ended
  }
  const dispose = async () => {
    for (const standby of standbys) await standby[Symbol.asyncDispose]()
    if (process.exitCode === null && process.signalCode === null) {
      process.kill('SIGQUIT')
      await ended
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  try {
    while (!(await isUp(url('postgres')))) {
      if (process.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${log}`)
      await delay(50)
    }
  } catch (error) {
    await dispose()
    throw error
  }
  return {
    port,
    folder,
    url,
    run,
    kill,
    promote: async () => {
      await run('pg_ctl', 'promote', '--pgdata', data, '--wait')
    },
    standby: async () => {
      const place = await emptyFolder()
      await run(
        ...([
          'pg_basebackup',
          '--pgdata',
          place.data,
          '--write-recovery-conf',
          '--wal-method=stream',
          '--checkpoint=fast',
          '--no-sync',
        ] as const),
        '--dbname',
        `${url('postgres')}?application_name=standby`,
      )
      const standby = await serverIn(place.folder, place.data)
      standbys.push(standby)
      await ask(url('postgres'), `alter system set synchronous_standby_names = 'standby'`)
      await ask(url('postgres'), 'select pg_reload_conf()')
      const synchronous = `select from pg_stat_replication where application_name = 'standby' and sync_state = 'sync'`
      while ((await ask(url('postgres'), synchronous)) === 0) await delay(50)
      return standby
    },
    [Symbol.asyncDispose]: dispose,
  }
}

/** @returns how many rows came back. */
export async function ask(url: string, query: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(query)).rowCount ?? 0
  } finally {
    await client.end()
  }
}

async function isUp(url: string): Promise<boolean> {
  return await ask(url, 'select 1').then(
    () => true,
    () => false,
  )
}
