import { randomUUID } from 'node:crypto'
import { access, constants, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { grouped } from '../counted.ts'
import { isAlive, ownIdentity } from '../embedded/folder-lock.ts'
import type { Cluster } from '../embedded/open-cluster.ts'
import { EmbeddedPostgresError } from '../embedded/run-program.ts'
import { bytesNeeded, requireRoom } from '../rehearsal/copy/copy-ledger.ts'
import {
  emptyAgain,
  lockRehearsal,
  markDatabase,
  requireLeftOver,
  takeEmpty,
} from '../rehearsal/copy/rehearsal-database.ts'
import { openWorldFile, type WorldSource } from '../world/world-file.ts'
import { type Cli, printLine, UsageError } from './cli.ts'
import { mirrorWorld } from './mirror-world.ts'
import { type OpenDatabase, reach } from './open-database.ts'
import { openEmbedded } from './open-embedded.ts'
import { readable } from './show/readable.ts'

/** Where a rehearsal keeps its copy of the ledger and its mirror. */
type RehearsalPlace = {
  url: string
  /** What people call it. */
  name: string
  /** On the file system that it lies on; null: it may be on another machine. */
  folder: string | null
  /** Refuses where another rehearsal may have it by now, because the session that held it has ended. */
  requireHeld(): Promise<void>
  /** Lets go of it, and unless it is to be kept removes everything that the rehearsal made there. */
  leave(keep: boolean): Promise<void>
}

function tellLeft(cli: Cli, name: string, { message }: Error): void {
  printLine(cli.stderr, readable(`The database ${name} is left and the next rehearsal drops it: ${message}`))
}

/** The embedded server, for a ledger that is on another: anyone who has none is to name a database, not a ledger. */
async function embeddedBeside(cli: Cli, config: Config): Promise<Cluster> {
  try {
    return await openEmbedded(cli, config)
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError)) throw error
    throw new EmbeddedPostgresError(
      `A rehearsal keeps its copy of the ledger in an embedded server unless you name an empty database with --database, or REHEARSAL_DATABASE_URL if the address holds a password. The embedded server cannot be used here: ${error.message}`,
      { cause: error },
    )
  }
}

/** The longest name of a database that Postgres does not cut off. */
const longestName = 63

/**
 * An empty database for a rehearsal: the one that was named, or one of the embedded server's. What an earlier rehearsal
 * left in it goes.
 * @param named its URL; null: of the embedded server.
 */
export async function openRehearsalPlace(
  cli: Cli,
  config: Config,
  own: OpenDatabase,
  named: string | null,
): Promise<RehearsalPlace> {
  if (named !== null) {
    if (!/^postgres(ql)?:\/\//.test(named) || !URL.canParse(named)) {
      throw new UsageError('--database takes the URL of an empty database, such as postgres://user@host:5432/rehearsal')
    }
    await reach(named, cli)
    const { host, pathname } = new URL(named)
    const lock = await lockRehearsal(named, null, cli.signal, takeEmpty)
    const name = `${host}${pathname}`
    const leave = async (keep: boolean) => {
      await using _lock = lock
      if (keep) return
      await lock
        .requireHeld()
        .then(() => emptyAgain(named))
        .catch((error: Error) => tellLeft(cli, name, error))
    }
    return { url: named, name, folder: null, requireHeld: lock.requireHeld, leave }
  }
  const cluster = own.cluster ?? (await embeddedBeside(cli, config))
  await using opened = new AsyncDisposableStack()
  opened.defer(async () => void (own.cluster === null && (await cluster.release())))
  const name = `${config.database.name.slice(0, longestName - '_rehearsal'.length)}_rehearsal`
  const admin = cluster.url('postgres')
  const lock = opened.use(await lockRehearsal(admin, name, cli.signal, (client) => requireLeftOver(client, name)))
  await cluster.dropDatabase(name)
  await cluster.ensureDatabase(name)
  await markDatabase(cluster.url(name), name)
  const held = opened.move()
  return {
    url: cluster.url(name),
    name,
    folder: cluster.data,
    requireHeld: lock.requireHeld,
    leave: async (keep) => {
      await using _held = held
      // What the rehearsal came to, or why it failed, is more than that a copy is left.
      if (keep) return
      await lock
        .requireHeld()
        .then(() => cluster.dropDatabase(name))
        .catch((error: Error) => tellLeft(cli, name, error))
    },
  }
}

/** What the mirror of a rehearsal serves. */
export type RehearsalWorld = {
  source: WorldSource
  /** Who owns the configured identifier there. */
  profileId: number
  /** On the disk. */
  bytes: number
  remove(): Promise<void>
}

/**
 * The world file that was named, before anything else is done.
 * @param named as on the command line.
 * @throws {UsageError} when it is not of the configured service. What `openWorldFile` throws.
 */
export async function namedWorld(cli: Cli, config: Config, named: string): Promise<RehearsalWorld> {
  return await openWorld(config, resolve(cli.workingFolder, named), async () => {})
}

/** A mirror can be written nowhere. */
class MirrorPlaceRefused extends Error {
  readonly code = 'file_not_accessible'
}

/**
 * A mirror of the service that is taken now and removed in the end.
 * @throws {MirrorPlaceRefused} before the service is asked for anything.
 */
export async function mirroredWorld(cli: Cli, config: Config): Promise<RehearsalWorld> {
  const folder = await writableFolder(resolve(cli.workingFolder, config.database.folder))
  await sweepWorlds(folder)
  // How large the file will be shows when it is there, and the copy may be on another disk.
  await requireRoom(folder, bytesNeeded(0, 0), 'world')
  const file = join(folder, `rehearsal-${ownIdentity()}.${randomUUID()}.world`)
  printLine(cli.stderr, 'Mirroring the service: GET requests and searches only …')
  const { companies } = await mirrorWorld(cli, config, file)
  printLine(cli.stderr, `The mirror has ${grouped(companies)} companies.`)
  const remove = () => rm(file, { force: true })
  return await openWorld(config, file, remove).catch(async (error: unknown) => {
    await remove()
    throw error
  })
}

async function writableFolder(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
    return folder
  } catch (error) {
    throw new MirrorPlaceRefused(
      `The mirror of the service goes to ${folder}, which cannot be written: ${(error as Error).message}. Give this user the right to write there, or name a mirror that was taken before with --world. Where database.url names a server of your own, database.folder may be set to another folder.`,
      { cause: error },
    )
  }
}

async function openWorld(config: Config, file: string, remove: () => Promise<void>): Promise<RehearsalWorld> {
  const source = await openWorldFile(file)
  const identifier = config.exchange.customIdentifierId?.toLowerCase()
  const owner = source.head.customProperties.find(({ id }) => id === identifier)
  if (owner === undefined) {
    throw new UsageError(
      `The world has no custom property ${identifier} (exchange.customIdentifierId). Take a mirror of the configured service, or set the identifier of this world.`,
    )
  }
  return { source, profileId: owner.profileId, bytes: (await stat(file)).size, remove }
}

/** A mirror, or what it is made of, with the process that it belongs to; one of before that was named is nobody's. */
const mirrored = /^rehearsal-(?:(?<owner>.+)\.)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.world(?:\.|$)/

/** Mirrors outlive processes that were killed, and hold what the service shows of every company. */
async function sweepWorlds(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const found = mirrored.exec(name)
    if (found === null || isAlive(found.groups?.owner ?? '')) continue
    // Another user's stays, and keeps nobody from rehearsing.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
  }
}
