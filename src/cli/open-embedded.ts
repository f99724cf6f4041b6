import { resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { type Cluster, openCluster } from '../db/embedded/open-cluster.ts'
import { type Cli, printLine } from './cli.ts'

/** Starts or joins the embedded server of the configured folder; what it has to say goes to the person. */
export async function openEmbedded(cli: Cli, { database }: Config): Promise<Cluster> {
  return await openCluster({
    folder: resolve(cli.workingFolder, database.folder, 'postgres'),
    onNotice: (sentence) => printLine(cli.stderr, sentence),
  })
}
