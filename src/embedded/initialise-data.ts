import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Binaries, openSharedPlace, sharedPlaces } from './binaries.ts'
import { type Account, EmbeddedPostgresError, indent, runProgram } from './run-program.ts'

/** The database superuser; the only role of the cluster. */
export const superuser = 'nightferry'

const versionFile = 'PG_VERSION'

const locationFile = 'location.txt'

/** Where the password of the superuser stands, which nobody but the user who made it can read. */
export function passwordFileOf(home: string): string {
  return join(home, 'password')
}

/** What stands beside complete data as soon as a server is to run on them. */
const tracesOfServer = ['server.conf', 'port']

/**
 * Whether a server was to run on `home/data` once, or `home` says where it does, be the data there or not: a link to
 * another disk, or the mount point of one, is empty until that is mounted.
 */
export function wasMade(home: string): boolean {
  return ['data', locationFile, ...tracesOfServer].some((name) => existsSync(join(home, name)))
}

/**
 * Refuses where a server has run and its data are gone. Call before anything is made for it: data that are made in
 * their place would be an empty ledger, which sends every row.
 *
 * @throws {EmbeddedPostgresError} naming what is gone and what to do.
 */
export async function refuseGoneData(home: string): Promise<void> {
  if (tracesOfServer.some((name) => existsSync(join(home, name)))) await requireData(home)
}

/**
 * Refuses where there are no data. Call where a server has run, before anything is made: a folder that is moved back
 * would land within one that was made in its place.
 *
 * @throws {EmbeddedPostgresError} naming what is gone and what to do.
 */
export async function requireData(home: string): Promise<void> {
  const data = join(home, 'data')
  if ((await versionOf(data)) !== undefined) return
  throw new EmbeddedPostgresError(
    `The data of the embedded PostgreSQL, ${data}, are gone: there is no ${join(data, versionFile)}. Mount the disk that they are on, or put them back, and start again; or move ${home} away to begin with an empty database.`,
  )
}

/**
 * Makes `home/data` unless it exists. Call under the folder's lock.
 *
 * initdb works in a folder of its own, which becomes `home/data` by one rename at the end: a data folder is complete,
 * or it is not there. What a killed attempt left behind is deleted, but for its password: data that were moved away
 * and come back are useless without the one that they were made with, so none is ever replaced.
 *
 * @throws {EmbeddedPostgresError} when initdb fails, or the data were made by another major version.
 * @throws the signal's reason when it aborts while initdb works.
 */
export async function initialiseData(
  home: string,
  binaries: Binaries,
  account: Account | undefined,
  durable: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const data = join(home, 'data')
  for (const name of await readdir(home)) {
    // initdb of a killed process may still write there; then the next start deletes it.
    if (name.startsWith('init-')) await rm(join(home, name), { recursive: true, force: true }).catch(() => {})
  }
  const version = await versionOf(data)
  if (version !== undefined) return checkVersion(home, version, binaries.major)
  const unfinished = join(home, `init-${randomBytes(6).toString('hex')}`)
  const password = existsSync(passwordFileOf(home))
    ? await readPassword(home)
    : await keepPassword(home, randomBytes(24).toString('hex'))
  await mkdir(unfinished, { mode: 0o700 })
  try {
    const passwordFile = join(unfinished, 'password')
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (account !== undefined) {
      // The folder last: from then on its names are the account's, and may lead anywhere.
      await chown(passwordFile, account.uid, account.gid)
      await chown(unfinished, account.uid, account.gid)
    }
    await initdb(binaries, join(unfinished, 'data'), passwordFile, account, durable, signal)
    await rename(join(unfinished, 'data'), data)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/** The major version of PostgreSQL that made the data; undefined when there are none. */
async function versionOf(data: string): Promise<string | undefined> {
  const version = await readFile(join(data, versionFile), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return version?.trim()
}

/** The superuser's password. @throws {EmbeddedPostgresError} when the file is gone or closed to us. */
export async function readPassword(home: string): Promise<string> {
  const file = passwordFileOf(home)
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new EmbeddedPostgresError(
      `${file} cannot be read, so nobody can log in to the database beside it: ${(error as Error).message}. Run as the user who made it, or delete ${home} to begin with an empty database.`,
      { cause: error },
    )
  }
}

async function initdb(
  binaries: Binaries,
  data: string,
  passwordFile: string,
  account: Account | undefined,
  durable: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const args = [
    ...[`--pgdata=${data}`, `--username=${superuser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', '--locale-provider=libc', '--no-locale', '--data-checksums', '--no-instructions'],
    ...(durable ? [] : ['--no-sync']),
  ]
  const { status, output } = await runProgram(binaries.initdb, args, account, signal)
  signal?.throwIfAborted()
  if (status !== 0) {
    throw new EmbeddedPostgresError(
      `initdb could not make a database under ${data}. Free space there, or put what it names right; or set DATABASE_URL.${indent(output)}`,
    )
  }
  // As the account, not as root: the file lies among the account's own, where a name may lead anywhere.
  const include = `printf "\\ninclude = '../server.conf'\\n" >> "$1"`
  const appended = await runProgram('/bin/sh', ['-c', include, 'sh', join(data, 'postgresql.conf')], account)
  if (appended.status !== 0) {
    throw new EmbeddedPostgresError(`postgresql.conf under ${data} cannot be written.${indent(appended.output)}`)
  }
}

/** Kept before the data appear, so that data never exist without their password. Returns it. */
async function keepPassword(home: string, password: string): Promise<string> {
  const written = join(home, 'password.new')
  const file = await open(written, 'w', 0o600)
  try {
    await file.writeFile(`${password}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await chmod(written, 0o600)
  await rename(written, passwordFileOf(home))
  return password
}

function checkVersion(home: string, found: string, expected: number): void {
  if (found === String(expected)) return
  throw new EmbeddedPostgresError(
    `${join(home, 'data')} was made by PostgreSQL ${found}, and the installed package is PostgreSQL ${expected}. Install the former version of Nightferry, and write a backup with it: nightferry backup --out FILE. Then move ${home} away, whole, install this version again, and load the file: nightferry restore-backup FILE. Nothing was changed.`,
  )
}

/** Users that may run the server, best first: the one of a PostgreSQL package, then the one made below. */
const userNames = ['postgres', 'nightferry']

/** The ways to make a system user: shadow (most Linux), Debian's adduser, BusyBox (Alpine). */
const creations: [program: string, args: string[]][] = [
  ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'nightferry']],
  ['adduser', ['--system', '--group', '--no-create-home', '--shell', '/bin/false', 'nightferry']],
  ['adduser', ['-S', '-D', '-H', '-s', '/bin/false', 'nightferry']],
]

/**
 * The user that runs the server. PostgreSQL refuses to run as root, so root hands it to another user: the owner of
 * the data where there are some, else `postgres`, else `nightferry`, which is created if need be.
 *
 * @returns undefined when we are not root: the server then runs as ourselves.
 * @throws {EmbeddedPostgresError} when there is no such user and none can be created.
 */
export async function serverAccount(
  data: string | undefined,
  onNotice: (sentence: string) => void,
): Promise<Account | undefined> {
  if (process.geteuid?.() !== 0) return undefined
  const owner = data === undefined ? undefined : await stat(data).catch(() => undefined)
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, name: `user ${owner.uid}` }
  const existing = await findAccount()
  if (existing !== undefined) return existing
  const refusals: string[] = []
  for (const [program, args] of creations) {
    const made = await runProgram(program, args, undefined)
    const account = await findAccount()
    if (account !== undefined) {
      onNotice(`Created the system user ${account.name}, because PostgreSQL refuses to run as root.`)
      return account
    }
    refusals.push(`${program} ${args.join(' ')}: ${made.output.trim()}`)
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root, and no other user could be created for it. Create a system user named postgres or nightferry, run as a user other than root, or set DATABASE_URL.${indent(refusals.join('\n'))}`,
  )
}

async function findAccount(): Promise<Account | undefined> {
  for (const name of userNames) {
    const [uid, gid] = await Promise.all([idOf('-u', name), idOf('-g', name)])
    if (uid !== undefined && gid !== undefined && uid !== 0) return { uid, gid, name }
  }
  return undefined
}

async function idOf(flag: '-u' | '-g', name: string): Promise<number | undefined> {
  const { status, output } = await runProgram('id', [flag, name], undefined)
  return status === 0 && /^\d+\n?$/.test(output) ? Number(output) : undefined
}

const ownerFile = 'belongs-to.txt'

/**
 * The folder that holds the data, the log, the port and the password of a cluster: `folder` itself, or, where
 * `account` cannot reach it (a clone in root's home, say), a folder of its own in a shared place. `location.txt`
 * in `folder` then names it, and `onNotice` says so.
 *
 * @throws {EmbeddedPostgresError} when no place can be reached, or there are data in `folder` already: another place
 * would begin with none.
 */
export async function dataHome(
  folder: string,
  account: Account | undefined,
  onNotice: (sentence: string) => void,
): Promise<string> {
  const elsewhere = await locationOf(folder)
  if (elsewhere !== undefined) return elsewhere
  if (account === undefined || (await canEnter(folder, account))) return folder
  if (await stat(join(folder, 'data')).catch(() => undefined)) {
    throw new EmbeddedPostgresError(
      `The database lies in ${folder}, and ${account.name}, who runs the server, cannot enter it any more. Open the folders above it (chmod o+x), or delete ${folder} to begin with an empty database.`,
    )
  }
  const refusals: string[] = []
  for (const place of sharedPlaces) {
    try {
      const home = await settleIn(place, folder, account)
      onNotice(`The database lies in ${home}, because ${account.name}, who runs the server, cannot enter ${folder}.`)
      return home
    } catch (error) {
      refusals.push((error as Error).message)
    }
  }
  throw new EmbeddedPostgresError(
    `${account.name}, who runs the server, cannot enter ${folder}, and there is no other place for the database. Open the folders above it (chmod o+x), move the project, or set DATABASE_URL.${indent(refusals.join('\n'))}`,
  )
}

/**
 * The place that `location.txt` names. A copy of the folder must not share the original's data: their locks know
 * nothing of each other. And a ledger that is not there yet, on a disk that is mounted late, must not be begun again.
 *
 * @returns undefined when there is no `location.txt`.
 * @throws {EmbeddedPostgresError} when the place is gone, or belongs to another folder that still uses it.
 */
export async function locationOf(folder: string): Promise<string | undefined> {
  const location = join(folder, locationFile)
  const named = await firstLine(location)
  if (named === undefined) return undefined
  const owner = await firstLine(join(named, ownerFile))
  if (owner === undefined) {
    throw new EmbeddedPostgresError(
      `The database of ${folder} lies in ${named}, as ${location} says, and that is gone: there is no ${ownerFile}. Mount it or put it back, and start again; or delete ${location} to begin with an empty database.`,
    )
  }
  if (owner === folder) return named
  if ((await firstLine(join(owner, locationFile))) === named) {
    throw new EmbeddedPostgresError(
      `${location} names ${named}, which holds the database of ${owner}. Delete ${folder} to begin with an empty database here.`,
    )
  }
  await writeFile(join(named, ownerFile), `${folder}\n`)
  return named
}

async function firstLine(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  return text?.split('\n', 1)[0]
}

/** Makes a folder for the cluster in a shared place, known to both sides or not there at all. */
async function settleIn(place: string, folder: string, account: Account): Promise<string> {
  const home = join(await openSharedPlace(place), `cluster-${randomBytes(6).toString('hex')}`)
  await mkdir(home)
  try {
    await chmod(home, 0o755)
    if (!(await canEnter(home, account))) throw new Error(`${home} is closed to ${account.name}`)
    await writeFile(join(home, ownerFile), `${folder}\n`)
    await writeFile(
      join(folder, locationFile),
      `${home}\n\nThe database of this folder lies there, because ${account.name}, who runs the server, cannot enter this one.\nDelete both to begin with an empty database.\n`,
    )
    return home
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/** Asked of the system, not read from modes: access lists and security modules have a say too. */
async function canEnter(folder: string, account: Account): Promise<boolean> {
  const { status } = await runProgram('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], account)
  return status === 0
}
