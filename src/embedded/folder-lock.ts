import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { bareEnvironment, EmbeddedPostgresError } from './run-program.ts'

/**
 * Starting after a crash replays the write-ahead log, up to `max_wal_size`; shorter would give up on a healthy holder.
 */
const waitMs = 180_000
const retryMs = 25

let taken = 0

/**
 * Runs `work` while no other process runs its own under the same folder.
 *
 * The lock is the folder `lock` holding one file named after its holder. It is taken by renaming a prepared folder
 * onto it, which succeeds only where nothing or an empty folder is: so the lock never exists without its holder's
 * name. The lock of a dead process is broken by deleting that one name. Two who break it at once delete the same
 * name, and never that of a third who has taken the lock meanwhile.
 *
 * @throws {EmbeddedPostgresError} when a living process holds the lock for three minutes.
 * @throws the signal's reason when it aborts before the lock is taken.
 */
export async function withFolderLock<T>(folder: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted()
  const lock = join(folder, 'lock')
  taken += 1
  const holder = `${ownIdentity()}.${taken}`
  const prepared = join(folder, `lock-${holder}`)
  await mkdir(prepared, { recursive: true })
  await writeFile(join(prepared, holder), '')
  try {
    await take(lock, prepared, signal)
  } catch (error) {
    await rm(prepared, { recursive: true, force: true })
    throw error
  }
  try {
    await sweepPrepared(folder)
    return await work()
  } finally {
    await ignoring(['ENOENT'], unlink(join(lock, holder)))
    await ignoring(['ENOENT', 'ENOTEMPTY', 'EEXIST'], rmdir(lock))
  }
}

async function take(lock: string, prepared: string, signal: AbortSignal | undefined): Promise<void> {
  const deadline = Date.now() + waitMs
  for (;;) {
    const refused = await ignoring(['ENOTEMPTY', 'EEXIST'], rename(prepared, lock))
    if (!refused) return
    const holders = await readdir(lock).catch(() => [])
    for (const holder of holders) {
      if (!isAlive(holderIdentity(holder))) await ignoring(['ENOENT'], unlink(join(lock, holder)))
    }
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The process ${holders[0]?.split('.', 1)[0]} has had ${lock} for ${waitMs / 1000} seconds. See what it does; end it if it hangs.`,
      )
    }
    await delay(retryMs, undefined, { signal })
  }
}

/** Prepared folders outlive processes that were killed while they waited. */
async function sweepPrepared(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith('lock-') && !isAlive(holderIdentity(name.slice('lock-'.length)))) {
      await rm(join(folder, name), { recursive: true, force: true })
    }
  }
}

function holderIdentity(holder: string): string {
  return holder.slice(0, holder.lastIndexOf('.'))
}

/** Whether `attempt` failed with one of `codes`; other failures are thrown. */
async function ignoring(codes: string[], attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt
    return false
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return true
    throw error
  }
}

let joined = 0

/** Enters this process in the list of those who use the cluster. Call under the folder's lock. Returns the entry. */
export async function enterMember(folder: string): Promise<string> {
  joined += 1
  const entry = `${ownIdentity()}.${joined}`
  await mkdir(join(folder, 'members'), { recursive: true })
  await writeFile(join(folder, 'members', entry), '')
  return entry
}

/**
 * Takes an entry off the list, and those of processes that died without doing so. Call under the folder's lock.
 * @returns how many entries are left.
 */
export async function leaveMember(folder: string, entry: string): Promise<number> {
  await rm(join(folder, 'members', entry), { force: true })
  const living = await livingMembers(folder)
  return living.length
}

/** The entries of processes that run, after those of dead processes were deleted. */
export async function livingMembers(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'members')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const living: string[] = []
  for (const entry of entries) {
    if (isAlive(entry.slice(0, entry.lastIndexOf('.')))) living.push(entry)
    else await rm(join(folder, 'members', entry), { force: true })
  }
  return living
}

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

/**
 * Whether the process that carried this identity still runs. One that is hidden counts, unless the identity names
 * another boot of the machine. Where one side cannot read which boot it is, the start alone tells.
 */
export function isAlive(identity: string): boolean {
  const pid = Number(identity.split('.', 1)[0])
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  const [start, boot] = splitBoot(identity)
  if (isHidden(pid)) return mayBeSame(boot, bootId())
  const running = identityOf(pid)
  if (running === undefined) return false
  const [runningStart, runningBoot] = splitBoot(running)
  return start === runningStart && mayBeSame(boot, runningBoot)
}

/**
 * Whether a process runs of which the system shows nothing else (the `hidepid` of `/proc`, systemd's `ProtectProc`).
 * One that we may send no signal to does not count: those of a cluster are of our own user, or we are root.
 */
export function isHidden(pid: number): boolean {
  if (process.platform !== 'linux' || existsSync(`/proc/${pid}/stat`)) return false
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function splitBoot(identity: string): [start: string, boot: string] {
  const cut = identity.lastIndexOf('-')
  return [identity.slice(0, cut), identity.slice(cut + 1)]
}

function mayBeSame(boot: string, other: string): boolean {
  return boot === other || boot === unknownBoot || other === unknownBoot
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
  } catch (error) {
    if (notShown.has((error as NodeJS.ErrnoException).code)) return undefined
    throw error
  }
}

/** How the system refuses `/proc/<pid>/stat` of a process that ended or is hidden; want of a descriptor is neither. */
const notShown = new Set<string | undefined>(['ENOENT', 'ESRCH', 'EACCES', 'EPERM'])

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

/** Stands for the boot where the system does not show it: systemd's `ProcSubset=pid`. */
const unknownBoot = 'boot'

/** Ticks count from the start of the machine, so the start of the machine belongs to the identity. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
  } catch {
    return unknownBoot
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
