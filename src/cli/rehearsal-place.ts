import type { Config } from '../config/schema.ts'
import type { Cluster } from '../embedded/open-cluster.ts'
import { EmbeddedPostgresError } from '../embedded/run-program.ts'
import {
  emptyAgain,
  lockRehearsal,
  markDatabase,
  requireLeftOver,
  takeEmpty,
} from '../rehearsal/copy/rehearsal-database.ts'
import { type Cli, printLine, UsageError } from './cli.ts'
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
