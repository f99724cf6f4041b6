import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../embedded/open-cluster.ts'
import type { Cli, ExitCode } from './cli.ts'

/**
 * What a stopping process may take for everything but the work at hand, before it is cut off: closing connections, and
 * telling an embedded server to stop. Milliseconds.
 */
const closingMs = 1_000

/** For a verb that has no such setting, and for a process that is told to stop while it starts. Milliseconds. */
const usualWorkMs = 8_000

let workMs = () => usualWorkMs

/** Says how long the work at hand may take once the process has to end: a setting may change, so it is asked then. */
export function allowForWork(settingMs: () => number): void {
  workMs = settingMs
}

/** Milliseconds after the first signal, or a verb's result, at which the process ends, whatever has not by then. */
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
 * What `work` comes to, unless a signal to end comes first. Then nobody waits for it any longer: the caller takes
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

/**
 * Closes what a verb opened, once the verb has its result. Closing waits for looks at other runs, which may never end:
 * so the result is told first, and the process ends with it in time.
 * @throws what `work` does.
 */
export async function thenClose(
  { onEnding }: Pick<Cli, 'onEnding'>,
  work: () => Promise<ExitCode>,
  close: () => Promise<void>,
): Promise<ExitCode> {
  try {
    const code = await work()
    onEnding?.({ code })
    return code
  } catch (error) {
    onEnding?.({ error })
    throw error
  } finally {
    await close()
  }
}

/** Why acts failed. */
const failuresOfActs = new WeakSet<object>()

/**
 * What an act of a verb comes to, which is waited for also after a signal to end. If it fails, the person is told
 * then too: a refusal, or that nobody knows what became of it, would look as if the verb had been stopped before it
 * did anything.
 * @throws what `act` does.
 */
export async function toItsEnd<T>(act: Promise<T>): Promise<T> {
  try {
    return await act
  } catch (error) {
    if (typeof error === 'object' && error !== null) failuresOfActs.add(error)
    throw error
  }
}

/** Whether an error is why an act failed, rather than what a signal has left of a verb that looks or works. */
export function isFailureOfAct(error: unknown): boolean {
  return typeof error === 'object' && error !== null && failuresOfActs.has(error)
}
