import { dirname, resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { type Cluster, openCluster } from '../embedded/open-cluster.ts'
import { EmbeddedPostgresError } from '../embedded/run-program.ts'
import { type Cli, printLine } from './cli.ts'
import { rememberEmbedded } from './whole-process.ts'

/**
 * Starts or joins the embedded server of the configured folder; what it has to say goes to the person.
 * @throws the signal's reason when it comes before the server is up; nothing runs then that would not have run anyway.
 */
export async function openEmbedded(cli: Cli, { database }: Config): Promise<Cluster> {
  const folder = resolve(cli.workingFolder, database.folder, 'postgres')
  const opening = openCluster({
    folder,
    onNotice: (sentence) => printLine(cli.stderr, sentence),
    signal: cli.signal,
  }).catch((error: unknown) => {
    throw folderTrouble(folder, error)
  })
  rememberEmbedded(opening)
  return await opening
}

const unusable = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC', 'EDQUOT'])

/**
 * What the system refused while the folder was made or written. A new user can choose another folder. A ledger that
 * exists must be moved there first, and whether one exists cannot always be seen.
 */
function folderTrouble(folder: string, error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: string }
  if (typeof code !== 'string' || !unusable.has(code)) return error
  return new EmbeddedPostgresError(
    `The folder of the embedded PostgreSQL, ${folder}, cannot be used: ${message}. Give the user who runs Nightferry the right to write there, and room on the disk. Another database.folder or DATABASE_URL begins an empty ledger: to keep one that is there, stop every process of Nightferry, move ${dirname(folder)}, whole, and then set database.folder.`,
    { cause: error },
  )
}
