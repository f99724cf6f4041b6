import { chmod, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Binaries, platformPackage, runnableBinaries, sharedPlaces } from './binaries.ts'
import { enterMember, leaveMember, withFolderLock } from './folder-lock.ts'
import {
  dataHome,
  initialiseData,
  locationOf,
  passwordFileOf,
  readPassword,
  refuseGoneData,
  requireData,
  serverAccount,
  superuser,
} from './initialise-data.ts'
import { type Account, EmbeddedPostgresError, indent, logTail } from './run-program.ts'
import { runningPostmaster, type ServerSettings, startServer, stopPostmaster } from './start-server.ts'

type ClusterOptions = {
  /** Holds the data, or the word where they are. Made if need be; all processes that name it share one server. */
  folder: string
  /** Told, in a sentence for a person, where things were placed and what was created on the system. */
  onNotice: (sentence: string) => void
  /** Server settings over our own. They matter to the process that starts the server. */
  settings?: ServerSettings
  /** The npm package with the programs; found by itself if left out. */
  packageFolder?: string
  /** Given up as soon as it aborts, at the latest when a start that has begun is through. */
  signal?: AbortSignal
}

export type Cluster = {
  /** Where the data are, a link perhaps: in the folder that was named, or where root placed them. */
  data: string
  /** Holds the password of `url`; only the user who made it can read it. */
  passwordFile: string
  /** Whether this call started the server, rather than joined one that ran. */
  startedHere: boolean
  /** The connection string of a database, password included. */
  url(database: string): string
  /** Creates a database unless it exists. */
  ensureDatabase(name: string): Promise<void>
  /** Drops a database if it exists; one that somebody is connected to is not dropped. */
  dropDatabase(name: string): Promise<void>
  /**
   * Starts the server again if it has ended, under the address that it had. Answers whether it was started by this
   * call.
   * @throws {EmbeddedPostgresError} when it cannot be had back under that address.
   */
  ensureRunning(): Promise<boolean>
  /** Says that we use the server no longer; the last process to say so stops it. Later calls do nothing. */
  release(): Promise<void>
}

const duplicateDatabase = '42P04'
const uniqueViolation = '23505'

/**
 * Starts the embedded PostgreSQL of a folder, or joins the one that runs, no matter who started it: also one that
 * outlived processes that were killed. Data are made at the first call and recovered after a crash.
 *
 * @throws {EmbeddedPostgresError} when it cannot run here; the message says what to do.
 * @throws the signal's reason when that came first; a server that was started for this call is stopped then.
 */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError('The embedded PostgreSQL does not run on Windows. Set DATABASE_URL, or use WSL.')
  }
  const { signal } = options
  const named = resolve(options.folder)
  // The server and we keep paths in files of lines.
  if (/[\r\n]/.test(named)) {
    throw new EmbeddedPostgresError(
      `The name of the folder ${JSON.stringify(named)} has a line break in it. Rename it, or set database.folder.`,
    )
  }
  const folder = await makeFolder(named)
  const cluster = await withFolderLock(folder, () => openLocked(folder, options), signal)
  if (signal?.aborted) {
    await cluster.release()
    signal.throwIfAborted()
  }
  return cluster
}

async function openLocked(folder: string, options: ClusterOptions): Promise<Cluster> {
  const before = (await locationOf(folder)) ?? folder
  await refuseGoneData(before)
  const account = await serverAccount(join(before, 'data'), options.onNotice)
  const copyTo = account === undefined ? [folder] : sharedPlaces
  const packageFolder = options.packageFolder ?? platformPackage()
  const binaries = await runnableBinaries(packageFolder, copyTo, account, options.onNotice)
  const home = await dataHome(folder, account, options.onNotice)
  const settings = options.settings ?? {}
  await initialiseData(home, binaries, account, settings.fsync !== 'off', options.signal)
  options.signal?.throwIfAborted()
  const password = await readPassword(home)
  const entry = await enterMember(folder)
  const { port, startedHere } = await startServer(home, binaries, account, settings).catch(async (error) => {
    await leaveMember(folder, entry)
    throw error
  })
  const url = (database: string) =>
    `postgres://${superuser}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`
  return clusterOf({ folder, home, binaries, account, settings, entry, url, port, startedHere })
}

/** Makes a folder that the server's user can pass through, also under a umask of 077, and returns it without links. */
async function makeFolder(folder: string): Promise<string> {
  const made = await mkdir(folder, { recursive: true })
  if (made !== undefined) {
    for (let each = folder; each.length >= made.length; each = dirname(each)) await chmod(each, 0o755)
  }
  const real = await realpath(folder)
  await refuseStrangersFolder(real)
  return real
}

/**
 * As root we write, chown and delete by name in this folder, and believe its location.txt: anyone else who may write
 * there could turn each of these on any file of the system.
 */
async function refuseStrangersFolder(folder: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid, mode } = await stat(folder)
  if (uid === 0 && (mode & 0o002) === 0 && ((mode & 0o020) === 0 || gid === 0)) return
  const whose = uid === 0 ? 'may be written by others than root' : `belongs to user ${uid}`
  throw new EmbeddedPostgresError(
    `${folder} ${whose}, and root must not trust it. Run as that user, or close the folder (chmod go-w). Another database.folder or DATABASE_URL begins an empty ledger.`,
  )
}

type Opened = {
  folder: string
  home: string
  binaries: Binaries
  account: Account | undefined
  settings: ServerSettings
  entry: string
  url: (database: string) => string
  port: number
  startedHere: boolean
}

function clusterOf(opened: Opened): Cluster {
  const { folder, home, binaries, account, entry, url, startedHere } = opened
  let released: Promise<void> | undefined
  return {
    data: join(home, 'data'),
    passwordFile: passwordFileOf(home),
    startedHere,
    url,
    ensureDatabase: (name) => createDatabaseIfMissing(url('postgres'), name),
    dropDatabase: (name) => dropDatabase(url('postgres'), name),
    ensureRunning: () => ensureRunning(opened, () => released !== undefined),
    release() {
      released ??= leave(folder, home, binaries, account, entry)
      return released
    },
  }
}

async function ensureRunning(
  { folder, home, binaries, account, settings, port }: Opened,
  isReleased: () => boolean,
): Promise<boolean> {
  const data = join(home, 'data')
  if (isReleased() || (await runningPostmaster(data)) !== undefined) return false
  await requireData(home)
  return withFolderLock(folder, async () => {
    if (isReleased()) return false
    const server = await startServer(home, binaries, account, settings).catch((error: Error) => {
      if (error instanceof EmbeddedPostgresError) throw error
      throw new EmbeddedPostgresError(
        `PostgreSQL on ${data} has ended and cannot be started again: ${error.message}.`,
        {
          cause: error,
        },
      )
    })
    if (server.port === port) return server.startedHere
    throw new EmbeddedPostgresError(
      `PostgreSQL on ${data} had ended and was started again, on port ${server.port}, because something else listens on ${port} now. Start Nightferry again.`,
    )
  })
}

async function leave(
  folder: string,
  home: string,
  binaries: Binaries,
  account: Account | undefined,
  entry: string,
): Promise<void> {
  // Deleted under us, server and all: nothing is left to stop, and a lock would make the folder again.
  if (!(await stat(folder).catch(() => undefined))) return
  await withFolderLock(folder, async () => {
    if ((await leaveMember(folder, entry)) > 0) return
    const refused = await stopPostmaster(binaries.pgCtl, join(home, 'data'), account)
    if (refused === '') return
    throw new EmbeddedPostgresError(
      `PostgreSQL on ${join(home, 'data')} did not stop within two minutes. It goes on running and the next start joins it.${indent(refused)}${logTail(join(home, 'server.log'))}`,
    )
  })
}

async function createDatabaseIfMissing(adminUrl: string, name: string): Promise<void> {
  await administer(adminUrl, async (client) => {
    try {
      const found = await client.query('select 1 from pg_database where datname = $1', [name])
      if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`)
    } catch (error) {
      const code = (error as { code?: string }).code
      if (code === duplicateDatabase || code === uniqueViolation) return
      throw error
    }
  })
}

async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await administer(adminUrl, async (client) => {
    await client.query(`drop database if exists ${client.escapeIdentifier(name)}`)
  })
}

async function administer(adminUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 30_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await work(client)
  } catch (error) {
    throw new EmbeddedPostgresError(`The embedded PostgreSQL refused: ${(error as Error).message}.`, { cause: error })
  } finally {
    await client.end().catch(() => {})
  }
}

type Keeper = {
  /** Aborts, with the error as its reason, when the server has ended and cannot be had back. */
  lost: AbortSignal
  /** Ends the care. A start that is under way is waited for. */
  stop: () => Promise<void>
}

/** So soon a server that died is missed: its clients notice at once, and wait. Milliseconds. */
const lookMs = 1_000
/** A server that dies more often than this is not helped by starting it: its disk or its memory is short. */
const restartsAtMost = 5
const withinMs = 600_000

/**
 * So many looks in a row that could not read a file mean that the data cannot be read any more. One says nothing of the
 * server: file descriptors may be short for a moment, or a disk may answer with an error once. With fewer, a daemon
 * would end whose server works; with more, one whose disk is gone would end later.
 */
const unreadAtMost = 5

/**
 * Starts the server of a cluster again when it ends, whichever of the processes that share it sees that first. A look
 * that could not read a file is made again: a server that works is not given up over an error that passes.
 */
export function keepRunning(cluster: Cluster, onRestart: () => void, intervalMs: number = lookMs): Keeper {
  const stopping = new AbortController()
  const lost = new AbortController()
  const restarts: number[] = []
  const look = async () => {
    if (!(await cluster.ensureRunning())) return
    onRestart()
    const now = performance.now()
    restarts.push(now)
    if (restarts.filter((at) => now - at < withinMs).length < restartsAtMost) return
    throw new EmbeddedPostgresError(
      `PostgreSQL on ${cluster.data} has ended ${restartsAtMost} times in ${withinMs / 60_000} minutes. See why in server.log beside the data: often it is the system that ends it, for want of memory.`,
    )
  }
  let unread = 0
  const guardedLook = async () => {
    try {
      await look()
      unread = 0
    } catch (error) {
      unread = isOfReading(error) ? unread + 1 : unreadAtMost
      if (unread >= unreadAtMost) lost.abort(error)
    }
  }
  const keep = async () => {
    while (!stopping.signal.aborted && !lost.signal.aborted) {
      await delay(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      if (stopping.signal.aborted) return
      await guardedLook()
    }
  }
  const keeping = keep()
  return {
    lost: lost.signal,
    stop: async () => {
      stopping.abort()
      await keeping
    },
  }
}

/** Whether the system refused to open or to read a file. */
function isOfReading(error: unknown): boolean {
  const { syscall } = error as NodeJS.ErrnoException
  return !(error instanceof EmbeddedPostgresError) && (syscall === 'open' || syscall === 'read')
}
