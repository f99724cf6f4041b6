import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import { EmbeddedPostgresError } from '../db/embedded/embedded-postgres-error.ts'
import { type Cluster, openCluster } from '../db/embedded/open-cluster.ts'
import { type Cli, printLine } from './cli.ts'

/** Every cluster that this process opened or is about to open. */
const opened = new Set<Promise<Cluster>>()

/** Longer than a clean stop takes on a slow disk; a person who does not want to wait sends a third signal. Milliseconds. */
const releaseWithinMs = 30_000

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
  opened.add(opening)
  return await opening
}

const unusable = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC', 'EDQUOT'])

/** What the system refused while the folder was made or written, with the setting that chooses another. */
function folderTrouble(folder: string, error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: string }
  if (typeof code !== 'string' || !unusable.has(code)) return error
  return new EmbeddedPostgresError(
    `The folder of the embedded PostgreSQL, ${folder}, cannot be used: ${message}. Give the user who runs Nightferry the right to write there, and the disk room; or set database.folder to another folder, or DATABASE_URL to a server of your own.`,
    { cause: error },
  )
}

/** For a process that ends without waiting for its work: a server that nobody releases would outlive it. */
export async function releaseEmbedded(): Promise<void> {
  const released = Promise.allSettled([...opened].map(async (opening) => (await opening).release()))
  await Promise.race([released, delay(releaseWithinMs)])
}
