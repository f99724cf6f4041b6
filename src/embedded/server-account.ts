import { stat } from 'node:fs/promises'
import { EmbeddedPostgresError, indent } from './embedded-postgres-error.ts'
import { type Account, runProgram } from './run-program.ts'

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
