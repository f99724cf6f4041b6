import type { Cli } from './cli.ts'

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
