import type { Config } from '../config/schema.ts'
import { emptyAgain, markDatabase, requireEmpty, requireLeftOver } from '../rehearsal/copy/rehearsal-database.ts'
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
  /** Lets go of it, and unless it is to be kept removes everything that the rehearsal made there. */
  leave(keep: boolean): Promise<void>
}

function tellLeft(cli: Cli, name: string, { message }: Error): void {
  printLine(cli.stderr, readable(`The database ${name} is left and the next rehearsal drops it: ${message}`))
}

/** The longest name of a database that Postgres does not cut off. */
const longestName = 63

/**
 * An empty database for a rehearsal: the one that was named, or one of the embedded server's, whose leftovers of an
 * earlier rehearsal go.
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
    await requireEmpty(named)
    const { host, pathname } = new URL(named)
    const leave = async (keep: boolean) => void (keep || (await emptyAgain(named)))
    return { url: named, name: `${host}${pathname}`, folder: null, leave }
  }
  const cluster = own.cluster ?? (await openEmbedded(cli, config))
  const release = async () => void (own.cluster === null && (await cluster.release()))
  const name = `${config.database.name.slice(0, longestName - '_rehearsal'.length)}_rehearsal`
  try {
    await requireLeftOver(cluster.url('postgres'), name)
    await cluster.dropDatabase(name)
    await cluster.ensureDatabase(name)
    await markDatabase(cluster.url(name), name)
  } catch (error) {
    await release()
    throw error
  }
  return {
    url: cluster.url(name),
    name,
    folder: cluster.data,
    leave: async (keep) => {
      try {
        // What the rehearsal came to, or why it failed, is more than that a copy is left.
        if (!keep) await cluster.dropDatabase(name).catch((error: Error) => tellLeft(cli, name, error))
      } finally {
        await release()
      }
    },
  }
}
