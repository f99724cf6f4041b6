import { migrateToLatest } from '../../db/migrate-to-latest.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { reach } from '../open-database.ts'
import { openEmbedded } from '../open-embedded.ts'
import { readConfig } from '../read-config.ts'
import { readable } from '../show/readable.ts'
import { toItsEnd } from '../whole-process.ts'

/** `nightferry migrate`: brings the database to the newest schema and says what was applied. Forward only. */
export async function migrate(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const { database } = config
  const cluster = database.url === 'embedded' ? await openEmbedded(cli, config) : null
  try {
    await cluster?.ensureDatabase(database.name)
    const url = cluster?.url(database.name) ?? database.url
    await reach(url, cli)
    const migrations = await toItsEnd(
      migrateToLatest(url, { onWaiting: (sentence) => printLine(cli.stderr, readable(sentence)) }),
    )
    if (options.json) printJson(cli.stdout, migrations)
    else
      for (const { name, applied } of migrations)
        printLine(cli.stdout, `${name}: ${applied ? 'applied now' : 'was there'}`)
    return exitCodes.well
  } finally {
    await cluster?.release()
  }
}
