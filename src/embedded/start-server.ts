import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { chmod, chown, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { identityOf, isHidden } from './folder-lock.ts'
import { type Account, bareEnvironment, EmbeddedPostgresError, indent, logTail, runProgram } from './run-program.ts'

/** A replay of the write-ahead log after a crash takes a minute or two on a slow disk. */
const readyWithinMs = 150_000
/**
 * Backends of a killed server end within a second of being told; a port that was taken just now is given up at once.
 */
const attempts = 5
/** A start on empty tables takes a quarter of a second. */
const startLookMs = 50
const logLimitBytes = 10_000_000

/**
 * Makes sure that a server runs on `home/data` and accepts connections. Call under the folder's lock.
 * A server that is found is joined as it is; `settings` take effect only in one that is started here.
 *
 * @returns its port, and whether it was started here.
 * @throws {EmbeddedPostgresError} with the end of the server's log.
 */
export async function startServer(
  home: string,
  binaries: Binaries,
  account: Account | undefined,
  settings: ServerSettings,
): Promise<{ port: number; startedHere: boolean }> {
  const data = join(home, 'data')
  const log = join(home, 'server.log')
  const deadline = Date.now() + readyWithinMs
  let failed = ''
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const joined = await joinRunning(data, deadline)
    if (joined !== undefined) return { port: joined, startedHere: false }
    await clearStalePostmaster(data)
    const port = await freePort(keptPort(home))
    const configuration = join(home, 'server.conf')
    await writeFile(configuration, settingsFile(port, settings))
    // A umask of 077 would close it to `account`.
    await chmod(configuration, 0o644)
    await prepareLog(log, account)
    failed = await startPostmaster({ postgres: binaries.postgres, data, log, account, deadline })
    if (failed === '') {
      await writeFile(join(home, 'port'), `${port}\n`)
      return { port, startedHere: true }
    }
    await delay(200 * attempt)
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL did not start on ${data}. Its log, ${log}, ends with what follows: put that right. DATABASE_URL or another database.folder begins an empty ledger, and so does moving ${home} away.${indent(failed)}${logTail(log)}`,
  )
}

type ToStart = { postgres: string; data: string; log: string; account: Account | undefined; deadline: number }

/**
 * Starts the server process, which goes on when we end. Not by pg_ctl: that has a shell do it, and the shell reads a $
 * or a quotation mark in the name of a folder as its own.
 * @returns empty once it accepts connections; otherwise what became of it.
 */
async function startPostmaster({ postgres, data, log, account, deadline }: ToStart): Promise<string> {
  const output = openSync(log, 'a')
  const state = { ended: '' }
  let child: ChildProcess
  try {
    child = spawn(postgres, ['-D', data], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', output, output],
      env: bareEnvironment,
      ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
    })
  } catch (error) {
    // Node throws some refusals of the system instead of emitting them.
    return `${postgres}: ${(error as Error).message}`
  } finally {
    closeSync(output)
  }
  child.unref()
  child.on('error', ({ message }) => {
    state.ended = `${postgres}: ${message}`
  })
  child.on('exit', (status, signal) => {
    state.ended = `${postgres} ended with ${signal ?? `status ${status}`}`
  })
  while (state.ended === '' && Date.now() < deadline) {
    const found = await runningPostmaster(data)
    if (found?.ready && found.pid === child.pid) return ''
    await delay(startLookMs)
  }
  return state.ended || `${postgres} was not ready within ${readyWithinMs / 1000} seconds`
}

/** Waits while a server that another process began to start, or to stop, goes on with it. */
async function joinRunning(data: string, deadline: number): Promise<number | undefined> {
  for (;;) {
    const found = await runningPostmaster(data)
    if (found === undefined) return undefined
    if (found.ready) return found.port
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The PostgreSQL server ${found.pid} on ${data} has been neither ready nor gone for ${readyWithinMs / 1000} seconds. See its log beside the data; end it if it hangs.`,
      )
    }
    await delay(50)
  }
}

/** `wanted` if nobody listens there, else one that the system chooses. */
async function freePort(wanted: number | undefined): Promise<number> {
  if (wanted !== undefined) {
    const free = await listenOnce(wanted).catch(() => undefined)
    if (free !== undefined) return free
  }
  return listenOnce(0)
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = server.address()
      const found = typeof address === 'object' && address !== null ? address.port : port
      server.close(() => resolve(found))
    })
  })
}

/** The log must exist beforehand: `account` may write the file, but not create one in a folder of root's. */
async function prepareLog(log: string, account: Account | undefined): Promise<void> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  )
  if (size > logLimitBytes) await rename(log, `${log}.1`)
  const file = await open(log, 'a', 0o600)
  await file.close()
  if (account !== undefined) await chown(log, account.uid, account.gid)
}

/** Server settings by name, as in postgresql.conf: `{ fsync: 'off' }`. */
export type ServerSettings = Readonly<Record<string, string>>

/** For a machine with 2 cores that also runs Nightferry, the sandbox and a person's editor. */
const defaults: ServerSettings = {
  // Loopback only, no socket file: its path may be longer than the 107 bytes that the system allows.
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  wal_level: 'replica',
  // A large load rewrites pages between checkpoints; less would checkpoint all the time, more would make recovery slow.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  // With 2 cores a parallel query takes the second one from ourselves, and its shared memory exceeds a container's 64
  // MB.
  max_parallel_workers_per_gather: '0',
  // Our statements are short; compiling them costs more than it saves.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %a %d ',
  log_checkpoints: 'off',
}

/**
 * The text of a configuration file: our defaults, `settings` over them, and the port.
 * @throws {EmbeddedPostgresError} for a name that cannot be a setting.
 */
function settingsFile(port: number, settings: ServerSettings): string {
  const all = { ...defaults, ...settings, port: String(port) }
  return Object.entries(all)
    .map(([name, value]) => {
      if (!/^[a-z_][a-z0-9_.]*$/.test(name) || value.includes('\n')) {
        throw new EmbeddedPostgresError(`"${name}" is not a setting of PostgreSQL, or its value holds a line break.`)
      }
      return `${name} = '${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'\n`
    })
    .join('')
}

/** A server process that runs on a data folder, as its `postmaster.pid` describes it. */
type Postmaster = { pid: number; port: number; ready: boolean }

/** As it says of itself once it has started; a standby that lets nobody in has started as well, and listens. */
const isUp = new Set(['ready', 'standby'])

/**
 * The server that runs on `data`, if one does. A `postmaster.pid` whose server was killed does not count, nor does one
 * whose process id now belongs to another program, or to the server of another data folder.
 */
export async function runningPostmaster(data: string): Promise<Postmaster | undefined> {
  const text = await readPidFile(data)
  if (text === undefined) return undefined
  const lines = text.split('\n').map((line) => line.trim())
  const found = { pid: Number(lines[0]), port: Number(lines[3] ?? 0), ready: isUp.has(lines[7] ?? '') }
  if (!Number.isSafeInteger(found.pid) || found.pid <= 0) return undefined
  const serves = isHidden(found.pid)
    ? await mayServe(found)
    : await servesData(found.pid, await realpath(data).catch(() => data))
  return serves ? found : undefined
}

/** Of a server that the system hides from us its port tells: one that is ready listens. */
async function mayServe({ port, ready }: Postmaster): Promise<boolean> {
  if (!ready) return true
  return listenOnce(port).then(
    () => false,
    () => true,
  )
}

/**
 * Clears the way for a start after a server was killed. Call only when `runningPostmaster` found none.
 *
 * The server itself refuses to start in two cases: its old process id was given to another program of the same user,
 * or remains as a zombie; and a backend of the killed server is still busy. In the first, `postmaster.pid` is deleted;
 * in the second, the backend is told to quit at once, which loses nothing that was committed.
 */
async function clearStalePostmaster(data: string): Promise<void> {
  const stale = await readPidFile(data)
  for (const pid of await orphanedBackends(await realpath(data))) {
    try {
      process.kill(pid, 'SIGQUIT')
    } catch {
      // It ended by itself meanwhile.
    }
  }
  // Another text belongs to a server that was started just now, by what a killed process of ours left running.
  if (stale !== undefined && (await readPidFile(data)) === stale)
    await rm(join(data, 'postmaster.pid'), { force: true })
}

async function readPidFile(data: string): Promise<string | undefined> {
  return readFile(join(data, 'postmaster.pid'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** Only Linux shows what a process works on; elsewhere the start fails until the backend ends, and says so. */
async function orphanedBackends(data: string): Promise<number[]> {
  if (process.platform !== 'linux') return []
  const found: number[] = []
  for (const pid of readdirSync('/proc').map(Number)) {
    if (Number.isSafeInteger(pid) && (isPostgresIn(pid, data) ?? (await ownerSeesPostgres(pid, data)))) found.push(pid)
  }
  return found
}

/** Root that may not look into a process asks as the owner of the data, whose processes all of a server's are. */
async function ownerSeesPostgres(pid: number, data: string): Promise<boolean> {
  if (process.geteuid?.() !== 0) return false
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
  if (name !== 'postgres\n') return false
  const { uid, gid } = await stat(data)
  const { output } = await runProgram('readlink', [`/proc/${pid}/cwd`], { uid, gid, name: `user ${uid}` })
  return output.trimEnd() === data
}

async function servesData(pid: number, data: string): Promise<boolean> {
  if (identityOf(pid) === undefined) return false
  if (process.platform === 'linux') return isPostgresIn(pid, data) ?? (await wasStartedOn(pid, data))
  const { output } = await runProgram('ps', ['-ww', '-o', 'command=', '-p', String(pid)], undefined)
  return output.includes('postgres') && output.includes(data)
}

/** The command line is open to everyone, and that of a server names its data; those of its backends do not. */
async function wasStartedOn(pid: number, data: string): Promise<boolean> {
  const [program = '', ...args] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
  const named = args[args.indexOf('-D') + 1] ?? ''
  return basename(program) === 'postgres' && (await realpath(named).catch(() => named)) === data
}

/**
 * Every process of a server works in its data folder. Undefined when we may not look: the process is of another user,
 * or of another user namespace (systemd's `PrivateUsers`), and we lack CAP_SYS_PTRACE, as root does in a container.
 */
function isPostgresIn(pid: number, data: string): boolean | undefined {
  try {
    const program = readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '')
    return basename(program) === 'postgres' && readlinkSync(`/proc/${pid}/cwd`) === data
  } catch (error) {
    return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '') ? undefined : false
  }
}

/** Stops the server on `data` cleanly: open transactions are rolled back, everything is written. */
export async function stopPostmaster(pgCtl: string, data: string, account: Account | undefined): Promise<string> {
  if ((await runningPostmaster(data)) === undefined) return ''
  const { status, output } = await runProgram(pgCtl, ['stop', '-D', data, '-m', 'fast', '-w', '-t', '120'], account)
  return status === 0 || (await runningPostmaster(data)) === undefined ? '' : output
}

/** The port that was used last, so that connection strings stay the same from one start to the next. */
function keptPort(home: string): number | undefined {
  try {
    const port = Number(readFileSync(join(home, 'port'), 'utf8'))
    return Number.isSafeInteger(port) && port > 0 && port < 65_536 ? port : undefined
  } catch {
    return undefined
  }
}
