import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { isAlive, ownIdentity } from '../embedded/folder-lock.ts'
import { type Cli, printLine } from './cli.ts'
import { mirrorWorld } from './mirror-world.ts'
import { grouped } from './show/readable.ts'

/**
 * The world file that was named, or a mirror that is taken now and removed in the end.
 * @param named as on the command line.
 */
export async function rehearsalWorld(
  cli: Cli,
  config: Config,
  named: string | undefined,
): Promise<{ world: string; remove: () => Promise<void> }> {
  if (named !== undefined) return { world: resolve(cli.workingFolder, named), remove: async () => {} }
  const folder = resolve(cli.workingFolder, config.database.folder)
  await mkdir(folder, { recursive: true })
  await sweepWorlds(folder)
  const file = join(folder, `rehearsal-${ownIdentity()}.${randomUUID()}.world`)
  printLine(cli.stderr, 'Mirroring the service: GET requests and searches only …')
  const { companies } = await mirrorWorld(cli, config, file)
  printLine(cli.stderr, `The mirror has ${grouped(companies)} companies.`)
  return { world: file, remove: () => rm(file, { force: true }) }
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
