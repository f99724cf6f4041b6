import { createWriteStream } from 'node:fs'
import { mkdtemp, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { openBackup } from '../../backup/backup-file.ts'
import { restoreBackup as restoreInto } from '../../backup/restore-backup.ts'
import { takeBackup } from '../../backup/take-backup.ts'
import { grouped } from '../../counted.ts'
import { createPool } from '../../db/database.ts'
import { migrationNames } from '../../db/migration-names.ts'
import { schemaName } from '../../db/schema-standing.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  ownVersion,
  printJson,
  printLine,
  UsageError,
} from '../cli.ts'
import { openDatabase, reach } from '../open-database.ts'
import { openEmbedded } from '../open-embedded.ts'
import { readConfig } from '../read-config.ts'
import { readable } from '../show/readable.ts'

export type BackupOptions = CommonOptions & { out: string; force?: boolean }

/** `nightferry backup`: all that Nightferry stores, as it is at one moment, in one file. */
export async function backup(cli: Cli, options: BackupOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const out = resolve(cli.workingFolder, options.out)
  if (options.force !== true && (await stat(out).catch(() => null)) !== null) {
    throw new UsageError(`${out} exists already: name another file with --out, or overwrite it with --force`)
  }
  await using file = await partOf(out)
  const database = await openDatabase(cli, config, { access: 'read' })
  try {
    const to = createWriteStream(file.path, { flags: 'wx', mode: 0o600, flush: true })
    const taken = await takeBackup(database.pool, to, { version: ownVersion(), signal: cli.signal })
    await file.keep()
    const { size: bytes } = await stat(out)
    const { tables, leftOut, ...told } = taken
    if (options.json) printJson(cli.stdout, { file: out, bytes, tables: tables.length, leftOut, ...told })
    else {
      const what = `${grouped(taken.rows)} rows of ${tables.length} tables in ${grouped(Math.ceil(bytes / 1024))} KiB`
      printLine(cli.stdout, readable(`Wrote ${out}: ${what}, as of ${taken.takenAt}.`))
    }
    for (const name of leftOut) printLine(cli.stderr, readable(`Not in it: ${name}, which Nightferry did not make.`))
    return exitCodes.well
  } finally {
    await database.close()
  }
}

/** A file that appears under its name when it is whole, and leaves nothing behind otherwise. */
async function partOf(out: string): Promise<{ path: string; keep: () => Promise<void> } & AsyncDisposable> {
  const folder = await mkdtemp(join(dirname(out), `.${basename(out)}-`)).catch((error: Error) => {
    throw new UsageError(`${out} cannot be written: ${error.message}. Name another file with --out.`)
  })
  const path = join(folder, 'part')
  return {
    path,
    keep: async () => {
      await rename(path, out)
      const above = await open(dirname(out))
      try {
        await above.sync()
      } finally {
        await above.close()
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** `nightferry restore-backup`: such a file into an empty database, and the newest schema. */
export async function restoreBackup(cli: Cli, name: string, options: CommonOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const { database } = config
  const path = resolve(cli.workingFolder, name)
  const file = await open(path).catch((error: Error) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`)
  })
  await using made = new AsyncDisposableStack()
  made.use(file)
  const content = createZstdDecompress()
  // The reader of the content is told what went wrong.
  const reading = pipeline(file.createReadStream({ autoClose: false }), content, { signal: cli.signal }).catch(() => {})
  made.defer(async () => {
    content.destroy()
    await reading
  })
  const read = await openBackup(content)
  const cluster = database.url === 'embedded' ? await openEmbedded(cli, config) : null
  if (cluster !== null) made.defer(() => cluster.release())
  await cluster?.ensureDatabase(database.name)
  const url = cluster?.url(database.name) ?? database.url
  await reach(url, cli)
  const pool = createPool(url, {
    max: 1,
    applicationName: 'nightferry restore-backup',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  made.defer(() => pool.end())
  const rows = await restoreInto(pool, read, cli.signal)
  const { tables, ...told } = read.head
  const migratedTo = migrationNames.at(-1)
  if (options.json) printJson(cli.stdout, { file: path, tables: tables.length, rows, migratedTo, ...told })
  else for (const line of restoredLines(read.head, rows)) printLine(cli.stdout, readable(line))
  return exitCodes.well
}

function restoredLines(
  { tables, takenAt, destination, runUnderWay }: Awaited<ReturnType<typeof openBackup>>['head'],
  rows: number,
): string[] {
  return [
    `Restored ${grouped(rows)} rows of ${tables.length} tables, as of ${takenAt}, for the destination ${destination}.`,
    ...(runUnderWay === null ? [] : [`Run ${runUnderWay} was under way then: the next start goes on with it.`]),
    'What was sent since is not in it: see "A backup came back" in docs/runbook.md.',
  ]
}
