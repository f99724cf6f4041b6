import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { memoryOf } from './memory.ts'

/**
 * Who uses the processors in a night: our process, our database's server, the partner's server, the service and its
 * server.
 */
export const parties = ['ours', 'database', 'partner', 'service'] as const
export type Party = (typeof parties)[number]

/** Seconds of processor time, user and system. */
export type Seconds = Record<Party, number>

/** `programs` are single processes; `servers` are counted with all that they started, also what has ended. */
export type Members = Record<Party, { programs: readonly number[]; servers: readonly number[] }>

/**
 * What was used from the moment before until `at`, a time of `Date.now()`; `queued`: seconds for which the four stood
 * in line for a processor that others had.
 */
export type Slice = { from: number; at: number; used: Seconds; queued: number }

/** Bytes resident at most: all of a program, and what the largest backend of our server shares with no other. */
export type Peaks = Record<Party, number>

/** Milliseconds between two samples: long beside the hundredths of a second in which the system counts. */
const sampleMs = 100

export type Watch = {
  /** Processor times until now. */
  now(): Seconds
  stop(): { slices: Slice[]; peaks: Peaks }
}

/** Samples the processor times and the memory of everybody, until it is stopped. */
export function watchProcessors(members: Members): Watch {
  let last = usedUntilNow(members)
  let lastQueued = queuedUntilNow(members)
  let lastAt = Date.now()
  const slices: Slice[] = []
  const peaks: Peaks = { ours: 0, database: 0, partner: 0, service: 0 }
  const sample = (): Seconds => {
    const at = Date.now()
    const used = usedUntilNow(members)
    // A process that ends is missing for a moment, until its server has taken its time over; one of ours for good.
    for (const party of parties) used[party] = Math.max(used[party], last[party])
    if (at > lastAt) {
      const queued = queuedUntilNow(members)
      const perParty = mapParties((party) => used[party] - last[party])
      // What has ended takes its share of the sum with it.
      slices.push({ from: lastAt, at, used: perParty, queued: Math.max(0, queued - lastQueued) })
      last = used
      lastQueued = queued
      lastAt = at
    }
    for (const party of parties) peaks[party] = Math.max(peaks[party], memoryNow(members[party]))
    return used
  }
  const timer = setInterval(sample, sampleMs)
  return {
    now: sample,
    stop: () => {
      clearInterval(timer)
      sample()
      return { slices, peaks }
    },
  }
}

export function mapParties<T>(of: (party: Party) => T): Record<Party, T> {
  return { ours: of('ours'), database: of('database'), partner: of('partner'), service: of('service') }
}

function usedUntilNow(members: Members): Seconds {
  return mapParties((party) => {
    const { programs, servers } = members[party]
    const children = servers.flatMap(childrenOf)
    const own = [...programs, ...children].map((pid) => processorTimes(pid).own)
    const whole = servers.map((pid) => processorTimes(pid)).map(({ own: itself, ended }) => itself + ended)
    return [...own, ...whole].reduce((sum, seconds) => sum + seconds, 0)
  })
}

/**
 * Seconds that all threads of everybody have stood in line so far, as the scheduler counts them; 0 where it does not.
 */
function queuedUntilNow(members: Members): number {
  const pids = parties.flatMap((party) => [...members[party].programs, ...members[party].servers.flatMap(childrenOf)])
  return pids.reduce((sum, pid) => sum + queuedOf(pid), 0)
}

function queuedOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const delays = threads.map((thread) => {
      const [, delay = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
      return Number(delay) / 1e9
    })
    return delays.reduce((sum, delay) => sum + delay, 0)
  } catch {
    return 0
  }
}

function memoryNow({ programs, servers }: Members[Party]): number {
  const backends = servers.flatMap(childrenOf).map((pid) => memoryOf(pid, 'RssAnon'))
  const own = programs.map((pid) => memoryOf(pid, 'VmHWM'))
  // A party with a program is measured by that: the service's server is no concern of ours.
  return Math.max(0, ...(programs.length > 0 ? own : backends))
}

/** Ticks a second of the processor times in /proc/<pid>/stat: USER_HZ, 100 on every Linux that we know. */
const ticks = 100

/** Seconds of a process, and of those children that ended and that it has waited for. */
function processorTimes(pid: number): { own: number; ended: number } {
  try {
    // The name of the program stands in brackets and may contain anything; what follows begins with the third field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { own: (user + system) / ticks, ended: (endedUser + endedSystem) / ticks }
  } catch {
    return { own: 0, ended: 0 }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Seconds of processor time that the whole machine has used. */
export function machineSeconds(): number {
  const [cpu = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  // user, nice, system, idle, iowait, irq, softirq, steal
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = cpu.split(/\s+/).slice(1).map(Number)
  return (user + nice + system + irq + softirq) / ticks
}

/** How a stretch of the night went by, in seconds. */
export type Spell = {
  /** We, our database or the partner's used a processor. */
  busy: number
  /** Only the service did. */
  service: number
  /** Nobody did, because others had the processors: zero on a machine of one's own. */
  queued: number
  /** Nobody did: timers, round trips, the disk. */
  idle: number
  /** What nobody of the four used of all processors, as time: half of a second in which one of two is used. */
  free: number
}

/**
 * Splits the time from one moment to another by who used the processors. Within a slice, work of ours and of the
 * service counts as one after the other, so `idle` is the least that it can have been. Pure.
 */
export function spellOf(
  slices: readonly Slice[],
  from: number,
  to: number,
  processors = availableParallelism(),
): Spell {
  const spell: Spell = { busy: 0, service: 0, queued: 0, idle: 0, free: 0 }
  for (const slice of slices) {
    const overlap = Math.min(to, slice.at) - Math.max(from, slice.from)
    if (overlap <= 0) continue
    const share = overlap / (slice.at - slice.from)
    const wall = overlap / 1000
    const { ours, database, partner, service } = slice.used
    const busy = Math.min(wall, (ours + database + partner) * share)
    const served = Math.min(wall - busy, service * share)
    spell.busy += busy
    const queued = Math.min(wall - busy - served, slice.queued * share)
    spell.service += served
    spell.queued += queued
    spell.idle += wall - busy - served - queued
    spell.free += Math.max(0, wall - queued - ((ours + database + partner + service) * share) / processors)
  }
  return spell
}
