import { setTimeout as delay } from 'node:timers/promises'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import type { Cluster } from '../embedded/open-cluster.ts'
import type { Cli } from './cli.ts'

/**
 * Keeps the part of V8's heap where objects begin from growing further than it has while the program was loaded. What
 * passes through here in millions lives for moments: with more room it is not freed earlier, only later, and more of it
 * is moved to where only full collections free it. Measured in a first extraction: 35 to 50 MB less at the peak, and no
 * more processor time.
 */
export function boundHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/**
 * Both halves of the part of the heap where objects begin, in a process that carries rows; V8 begins with 1. Megabytes.
 */
const roomForRows = 8

/**
 * How much of the heap and of the buffers beside it may be garbage, in percent of what is in use, before a full
 * collection frees it; V8 lets the heap double and more, and collects for the buffers alone besides.
 */
const garbageShare = 35

/** Turns of 2,000 objects after which the room must have grown. It takes about five. */
const mostTurns = 200

/**
 * Gives a process that carries rows room for some batches of them, so that most are garbage by the time that the room
 * is full and need not be moved; and has the rest of the heap collected as `garbageShare` says.
 */
export function makeRoomForRows(): void {
  setFlagsFromString('--semi-space-growth-factor=8')
  // The room grows when objects that are in use fill it, and by no call.
  const inUse: object[] = []
  for (let turn = 0; roomForObjects() < roomForRows * 1024 * 1024 && turn < mostTurns; turn++) {
    for (let object = 0; object < 2_000; object++) inUse.push({ object, turn, list: [object] })
  }
  boundHeap()
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  setFlagsFromString(`--heap-growing-percent=${garbageShare}`)
}

function roomForObjects(): number {
  return (
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ??
    Number.POSITIVE_INFINITY
  )
}

/**
 * What a stopping process may take for everything but the work at hand, before it is cut off: closing connections, and
 * telling an embedded server to stop. Milliseconds.
 */
const closingMs = 1_000

/** For a verb that has no such setting, and for a process that is told to stop while it starts. Milliseconds. */
const usualWorkMs = 8_000

let workMs = () => usualWorkMs

/** Says how long the work at hand may take after the first signal: a setting that may change, so it is asked then. */
export function allowForWork(settingMs: () => number): void {
  workMs = settingMs
}

/** Milliseconds after the first signal at which the process ends, whatever has not ended by then. */
export function shutdownLimitMs(): number {
  return workMs() + closingMs
}

/** Every cluster that this process opened or is about to open. */
const opened = new Set<Promise<Cluster>>()

/** Keeps in mind that this process has a cluster, or will have it. */
export function rememberEmbedded(opening: Promise<Cluster>): void {
  opened.add(opening)
}

/**
 * For a process that ends without waiting for its work: a server that nobody releases would outlive it.
 * @param withinMs waited for at most. A server that was told to stop goes on doing so, and one that was not is found by
 * the next start.
 */
export async function releaseEmbedded(withinMs: number): Promise<void> {
  const released = Promise.allSettled([...opened].map(async (opening) => (await opening).release()))
  await Promise.race([released, delay(withinMs)])
}

/**
 * What `work` comes to, unless SIGINT or SIGTERM comes first. Then nobody waits for it any longer: the caller takes
 * away what it works on, and it fails unheard.
 * @throws the signal's reason.
 */
export async function untilSignal<T>({ signal }: Pick<Cli, 'signal'>, work: Promise<T>): Promise<T> {
  work.catch(() => {})
  signal.throwIfAborted()
  const listening = new AbortController()
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: listening.signal })
      }),
    ])
  } finally {
    listening.abort()
  }
}
