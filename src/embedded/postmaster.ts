import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { readFile, realpath, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { identityOf } from './process-identity.ts'
import { type Account, runProgram } from './run-program.ts'

/** A server process that runs on a data folder, as its `postmaster.pid` describes it. */
type Postmaster = { pid: number; port: number; ready: boolean }

/**
 * The server that runs on `data`, if one does. A `postmaster.pid` whose server was killed does not count, nor does one
 * whose process id now belongs to another program, or to the server of another data folder.
 */
export async function runningPostmaster(data: string): Promise<Postmaster | undefined> {
  const text = await readPidFile(data)
  if (text === undefined) return undefined
  const lines = text.split('\n').map((line) => line.trim())
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 0 || !(await servesData(pid, await realpath(data).catch(() => data))))
    return undefined
  return { pid, port: Number(lines[3] ?? 0), ready: lines[7] === 'ready' }
}

/**
 * Clears the way for a start after a server was killed. Call only when `runningPostmaster` found none.
 *
 * The server itself refuses to start in two cases: its old process id was given to another program of the same user,
 * or remains as a zombie; and a backend of the killed server is still busy. In the first, `postmaster.pid` is deleted;
 * in the second, the backend is told to quit at once, which loses nothing that was committed.
 */
export async function clearStalePostmaster(data: string): Promise<void> {
  const stale = await readPidFile(data)
  for (const pid of orphanedBackends(await realpath(data))) {
    try {
      process.kill(pid, 'SIGQUIT')
    } catch {
      // It ended by itself meanwhile.
    }
  }
  // Another text belongs to a server that was started just now, by what a killed process of ours left running.
  if (stale !== undefined && (await readPidFile(data)) === stale)
    await rm(join(data, 'postmaster.pid'), { force: true })
}

async function readPidFile(data: string): Promise<string | undefined> {
  return readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => undefined)
}

/** Only Linux shows what a process works on; elsewhere the start fails until the backend ends, and says so. */
function orphanedBackends(data: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && isPostgresIn(pid, data))
}

async function servesData(pid: number, data: string): Promise<boolean> {
  if (identityOf(pid) === undefined) return false
  if (process.platform === 'linux') return isPostgresIn(pid, data)
  const { output } = await runProgram('ps', ['-ww', '-o', 'command=', '-p', String(pid)], undefined)
  return output.includes('postgres') && output.includes(data)
}

/** Every process of a server works in its data folder. */
function isPostgresIn(pid: number, data: string): boolean {
  try {
    const program = readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '')
    return basename(program) === 'postgres' && readlinkSync(`/proc/${pid}/cwd`) === data
  } catch {
    return false
  }
}

/** Stops the server on `data` cleanly: open transactions are rolled back, everything is written. */
export async function stopPostmaster(pgCtl: string, data: string, account: Account | undefined): Promise<string> {
  if ((await runningPostmaster(data)) === undefined) return ''
  const { status, output } = await runProgram(pgCtl, ['stop', '-D', data, '-m', 'fast', '-w', '-t', '120'], account)
  return status === 0 || (await runningPostmaster(data)) === undefined ? '' : output
}

/** The port that was used last, so that connection strings stay the same from one start to the next. */
export function keptPort(home: string): number | undefined {
  try {
    const port = Number(readFileSync(join(home, 'port'), 'utf8'))
    return Number.isSafeInteger(port) && port > 0 && port < 65_536 ? port : undefined
  } catch {
    return undefined
  }
}
