import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { bareEnvironment } from './run-program.ts'

/**
 * Names one process of one machine for good: `<pid>.<start>`. A process id alone is given again after a while, and
 * after a restart of the machine at once; the start time tells the two apart. Safe as part of a file name.
 *
 * @returns undefined when no such process runs; a zombie does not run, nor does one that is being taken down.
 */
export function identityOf(pid: number): string | undefined {
  const started = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid)
  return started === undefined ? undefined : `${pid}.${started}`
}

/** Whether the process that carried this identity still runs. */
export function isAlive(identity: string): boolean {
  const pid = Number(identity.split('.', 1)[0])
  return Number.isSafeInteger(pid) && pid > 0 && identityOf(pid) === identity
}

/** This process. */
export function ownIdentity(): string {
  const identity = identityOf(process.pid)
  if (identity === undefined) throw new Error(`The start time of process ${process.pid} cannot be read.`)
  return identity
}

function startOnLinux(pid: number): string | undefined {
  try {
    const startTicks = startTicksOf(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return startTicks === undefined ? undefined : `${startTicks}-${bootId()}`
  } catch {
    return undefined
  }
}

/**
 * The kernel's PF_EXITING: set before a killed process closes its files, long before it is a zombie on a busy machine.
 */
const exitingFlag = 0x4

/**
 * When the process of a line of `/proc/<pid>/stat` started, in ticks; undefined when it runs no more. Anyone who learns
 * of a death by a closed channel looks while the dead process is still being taken down, and must not count it.
 */
export function startTicksOf(stat: string): string | undefined {
  // The second field is the program's name in brackets and may contain anything, brackets and blanks included.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, flags, startTicks] = [fields[0], Number(fields[6]), fields[19]]
  if (state === 'Z' || state === 'X' || (flags & exitingFlag) !== 0) return undefined
  return startTicks
}

/** Ticks count from the start of the machine, so the start of the machine belongs to the identity. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
  } catch {
    return 'boot'
  }
}

function startByPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: bareEnvironment,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
    const [state = 'Z', ...started] = line.split(/\s+/)
    return state.startsWith('Z') ? undefined : started.join('-').replaceAll(':', '')
  } catch {
    return undefined
  }
}
