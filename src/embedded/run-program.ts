import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The operating-system user that owns the data and runs the server. */
export type Account = { uid: number; gid: number; name: string }

/** Nothing of ours: variables such as PGDATA, PGPORT or LANG would change what the server's programs do and print. */
export const bareEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

type Finished = { status: number | null; output: string }

/**
 * Runs a program to its end, as `account` or, without one, as ourselves. Both outputs are collected together.
 *
 * It runs in a process group of its own, so that Ctrl-C in the terminal does not end an initdb or a start half-way;
 * and in `/`, because the current folder may be closed to `account`.
 *
 * @param signal ends it, or keeps it from being started; initdb deletes what it made then.
 * @returns status null when a signal ended it or it could not be started at all; `output` then says so.
 */
export function runProgram(
  file: string,
  args: string[],
  account: Account | undefined,
  signal?: AbortSignal,
): Promise<Finished> {
  if (signal?.aborted) return Promise.resolve({ status: null, output: `${file} was not started` })
  return new Promise((resolve) => {
    const notStarted = (error: Error) => resolve({ status: null, output: `${file}: ${error.message}` })
    let output = ''
    try {
      const child = spawn(file, args, {
        cwd: '/',
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: bareEnvironment,
        ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
      })
      const collect = (chunk: Buffer) => {
        output += chunk.toString('utf8')
      }
      child.stdout.on('data', collect)
      child.stderr.on('data', collect)
      const end = () => endGroup(child.pid)
      signal?.addEventListener('abort', end, { once: true })
      child.on('error', notStarted)
      child.on('close', (status, endedBy) => {
        signal?.removeEventListener('abort', end)
        resolve({ status, output: endedBy === null ? output : `${output}${file} was ended by ${endedBy}` })
      })
    } catch (error) {
      // Node throws some refusals of the system, EPERM for the user among them, instead of emitting them.
      notStarted(error as Error)
    }
  })
}

/** With what it started itself: initdb has a server at work. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGTERM')
  } catch {
    // It ended by itself meanwhile.
  }
}

/**
 * How much of the end of a server log is read for a message: enough for a start that failed, small enough for a
 * terminal.
 */
const tailBytes = 8_192

/**
 * The embedded PostgreSQL could not be prepared, started, joined or stopped. The message says what was tried, where,
 * what the server's log ends with and what to do. A server of one's own (`DATABASE_URL`) is always the way round it,
 * with an empty ledger: a message that names it says so where there may be one.
 */
export class EmbeddedPostgresError extends Error {
  readonly code = 'embedded_postgres_failed'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedPostgresError'
  }
}

/** The last `lines` lines of a log, indented for a message; empty when there is no such file. */
export function logTail(file: string, lines = 12): string {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch {
    return ''
  }
  try {
    const size = fstatSync(handle).size
    const buffer = Buffer.alloc(Math.min(size, tailBytes))
    readSync(handle, buffer, 0, buffer.length, size - buffer.length)
    return indent(buffer.toString('utf8').trimEnd().split('\n').slice(-lines).join('\n'))
  } finally {
    closeSync(handle)
  }
}

/** Text of another program inside one of our messages, set off by two spaces. */
export function indent(text: string): string {
  const trimmed = text.trim()
  return trimmed === '' ? '' : `\n${trimmed.replace(/^/gm, '  ')}`
}
