import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Cli } from './cli.ts'

/** The program that carries our messages: Node.js has no datagram sockets of the file system. */
const program = 'systemd-notify'

/** Finds the program where a unit that sets no PATH would find it too. */
const usualPath = '/usr/local/bin:/usr/bin:/bin'

/** How often people who ask the service manager are told again how we get on. Milliseconds. */
const statusEveryMs = 15_000

type ServiceManager = {
  /** Says that we are up, and from then on how we get on, as `look` tells it in a sentence. */
  ready(): Promise<void>
  /** Says that the configuration is read again, and that it was. */
  reload(work: () => void): Promise<void>
  stopping(): Promise<void>
}

/**
 * Speaks to the service manager that started us, as sd_notify(3) describes it: by the socket that NOTIFY_SOCKET names.
 * Where nobody listens, each call does nothing. What cannot be told is logged once; the work goes on.
 *
 * The watchdog is told that we are alive after each look that succeeded, and never while one is under way: if the
 * event loop or the database hangs, the looks stop, and the manager starts us again.
 *
 * @param look asks the database how we get on.
 */
export function openServiceManager(
  { environment, signal }: Pick<Cli, 'environment' | 'signal'>,
  logger: Pick<Logger, 'warn'>,
  look: () => Promise<string>,
): ServiceManager {
  const socket = environment.NOTIFY_SOCKET
  if (socket === undefined || socket === '') {
    return { ready: async () => {}, reload: async (work) => work(), stopping: async () => {} }
  }
  let warned = false
  const tell = async (...states: string[]): Promise<void> => {
    const env = { PATH: environment.PATH ?? usualPath, NOTIFY_SOCKET: socket }
    // Node.js throws some refusals of the system, and emits others.
    const refused = await notify(env, states).catch((error: Error) => error.message)
    if (refused !== null && !warned) logger.warn({ program, error: refused }, 'service_manager_not_told')
    warned ||= refused !== null
  }
  const watchdog = watchdogMs(environment, process.pid)
  const watch = async (): Promise<void> => {
    const everyMs = Math.min(statusEveryMs, (watchdog ?? Infinity) / 2)
    let told = ''
    while (!signal.aborted) {
      const status = await look().catch(() => null)
      if (signal.aborted) return
      const news = [
        ...(watchdog !== null && status !== null ? ['WATCHDOG=1'] : []),
        ...(status !== null && status !== told ? [`STATUS=${status}`] : []),
      ]
      if (news.length > 0) await tell(...news)
      told = status ?? told
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  return {
    ready: async () => {
      await tell('READY=1')
      void watch()
    },
    reload: async (work) => {
      await tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`)
      work()
      await tell('READY=1')
    },
    stopping: () => tell('STOPPING=1', 'STATUS=Stopping: the work at hand ends'),
  }
}

/**
 * Within how many milliseconds the manager wants to hear of us, again and again; null: it does not. What it wants to
 * hear of another process does not concern us.
 */
function watchdogMs(environment: Cli['environment'], pid: number): number | null {
  const { WATCHDOG_USEC: limit = '', WATCHDOG_PID: meant } = environment
  if (!/^[1-9]\d*$/.test(limit)) return null
  if (meant !== undefined && meant !== String(pid)) return null
  return Number(limit) / 1_000
}

/** @returns what went wrong, or null. */
function notify(env: Record<string, string>, states: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(program, states, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8')
    })
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) => resolve(code === 0 ? null : said.trim() || `it ended with ${code}`))
  })
}
