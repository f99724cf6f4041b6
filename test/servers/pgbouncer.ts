import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { unusedPort } from '../exchange/fault-server.ts'
import { ask } from './debian-server.ts'
import { program, serverUser } from './programs.ts'

export type Pooler = AsyncDisposable & { url(database: string): string }

export type PoolMode = 'session' | 'transaction' | 'statement'

/** A PgBouncer in front of the server of an address, with nothing set that Debian's configuration does not set. */
export async function startPgbouncer(target: string, mode: PoolMode, poolSize = 40): Promise<Pooler> {
  const user = serverUser()
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-pooler-'))
  await chmod(folder, 0o755)
  const { port: targetPort, username, password } = new URL(target)
  const port = await unusedPort()
  const configuration = `[databases]
* = host=127.0.0.1 port=${targetPort} user=${username} password='${decodeURIComponent(password).replaceAll("'", "''")}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 200
`
  await writeFile(join(folder, 'pgbouncer.ini'), configuration)
  if (user !== undefined) await chown(join(folder, 'pgbouncer.ini'), user.uid, user.gid)
  const process = spawn(program('pgbouncer'), [join(folder, 'pgbouncer.ini')], {
    ...user,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [process.stdout, process.stderr])
    stream.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8')
    })
  const ended = once(process, 'exit')
  const url = (database: string) => `postgres://anybody@127.0.0.1:${port}/${database}`
  const dispose = async () => {
    process.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  while (
    !(await ask(url('postgres'), 'select 1').then(
      () => true,
      () => false,
    ))
  ) {
    if (process.exitCode !== null) throw new Error(`pgbouncer did not start:\n${log}`)
    await delay(50)
  }
  return { url, [Symbol.asyncDispose]: dispose }
}
