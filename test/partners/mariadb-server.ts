import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import mysql, { type Connection } from 'mysql2/promise'
import { authority, valid } from '../exchange/certificates.ts'
import { dataFolder } from '../helpers/data-folder.ts'

/** A MariaDB server of the tests' own. Root has no password; its certificate is signed by `authorityFile`. */
export type MariadbServer = { port: number; authorityFile: string }
export type RunningMariadb = MariadbServer & { stop(): Promise<void> }

/**
 * Five hours behind UTC and with a summer time, so that no test passes because all clocks agree. Needs no list of
 * zones.
 */
export const zone = 'EST5EDT,M3.2.0,M11.1.0'

/** Starts one in a folder of its own, on a free port, as a user who is not root. */
export async function startMariadb(): Promise<RunningMariadb> {
  const user = process.getuid?.() === 0 ? userNamed('mysql') : undefined
  const folder = await mkdtemp(join(dataFolder(), 'nightferry-mariadb-'))
  try {
    await chmod(folder, 0o755)
    for (const [name, text] of [
      ['cert.pem', valid.cert],
      ['key.pem', valid.key],
      ['authority.pem', authority],
    ] as const) {
      await writeFile(join(folder, name), text)
    }
    if (user) for (const path of [folder, join(folder, 'key.pem')]) await chown(path, user.uid, user.gid)
    const data = join(folder, 'data')
    const environment = { PATH: path(), TZ: zone, HOME: folder }
    execFileSync(
      program('mariadb-install-db'),
      ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
      { ...user, env: environment, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const port = await freePort()
    const settings = [
      `--datadir=${data}`,
      `--socket=${join(folder, 'socket')}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--pid-file=${join(folder, 'pid')}`,
      `--log-error=${join(folder, 'error.log')}`,
      `--ssl-cert=${join(folder, 'cert.pem')}`,
      `--ssl-key=${join(folder, 'key.pem')}`,
      '--innodb-buffer-pool-size=64M',
      '--innodb-flush-log-at-trx-commit=0',
    ]
    const server = spawn(program('mariadbd'), ['--no-defaults', ...settings], {
      ...user,
      env: environment,
      stdio: 'ignore',
    })
    const ended = once(server, 'exit')
    // An interrupted test run ends without teardown.
    const atExit = () => {
      server.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    }
    process.once('exit', atExit)
    const stop = async () => {
      server.kill('SIGKILL')
      await ended
      process.off('exit', atExit)
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    }
    try {
      await untilUp(port, () => server.exitCode !== null, join(folder, 'error.log'))
    } catch (error) {
      await stop()
      throw error
    }
    return { port, authorityFile: join(folder, 'authority.pem'), stop }
  } catch (error) {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    throw error
  }
}

/** A connection with every privilege; several statements at once may be given. */
export async function asRoot(port: number): Promise<Connection> {
  return await mysql.createConnection({
    host: '127.0.0.1',
    port,
    user: 'root',
    multipleStatements: true,
    timezone: 'Z',
  })
}

async function untilUp(port: number, gone: () => boolean, log: string): Promise<void> {
  for (;;) {
    try {
      const connection = await asRoot(port)
      await connection.end()
      return
    } catch (error) {
      if (gone()) throw new Error(`mariadbd did not start:\n${await readFile(log, 'utf8')}`, { cause: error })
      await delay(50)
    }
  }
}

/** Debian keeps the server where only root looks for programs. */
function path(): string {
  return [process.env.PATH ?? '', '/usr/sbin', '/usr/local/sbin'].join(delimiter)
}

/** @throws {Error} saying what to install. */
function program(name: string): string {
  try {
    return execFileSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name], {
      env: { PATH: path() },
      encoding: 'utf8',
    }).trim()
  } catch (error) {
    throw new Error(
      `${name} is not installed, and these tests need a MariaDB server of their own. Debian and Ubuntu: apt-get install mariadb-server`,
      { cause: error },
    )
  }
}

function userNamed(name: string): { uid: number; gid: number } {
  const ask = (option: string) => Number(execFileSync('id', [option, name], { encoding: 'utf8' }))
  program('mariadbd')
  return { uid: ask('-u'), gid: ask('-g') }
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
