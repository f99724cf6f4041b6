import { boundHeap } from './bound-heap.ts'
import type { Cli } from './cli.ts'
import { releaseEmbedded } from './release-embedded.ts'
import { runVerb } from './run-verb.ts'

/** What only main.ts reads from the process. */
export type Surroundings = Pick<Cli, 'environment' | 'workingFolder'> & {
  /** The command line after the program's name. */
  args: readonly string[]
}

/** Runs the verb of the command line to its end; the process ends with its exit code. */
export async function start({ args, ...surroundings }: Surroundings): Promise<void> {
  boundHeap()

  const interrupted = new AbortController()
  let signalled: 'SIGINT' | 'SIGTERM' | null = null
  let ending = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (signalled === null) {
        signalled = signal
        interrupted.abort()
        return
      }
      const exit = () => process.exit(exitCodeOf(signal))
      // The second one means it: whatever is in flight is found again by the next start. A third one waits for nothing.
      if (ending) exit()
      ending = true
      void releaseEmbedded().then(exit)
    })
  }
  // Started with a channel, as the demo starts the sandbox: when whoever started us is gone, we are not wanted either.
  process.on('disconnect', () => interrupted.abort())
  process.channel?.unref()
  // Whoever read our output is gone; the work goes on, and the tables say how it went.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

  const cli: Cli = {
    ...surroundings,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupted.signal,
    now: () => new Date(),
  }

  const code = await runVerb(cli, args)
  process.exitCode = signalled === null ? code : exitCodeOf(signalled)
}

function exitCodeOf(signal: 'SIGINT' | 'SIGTERM'): number {
  return signal === 'SIGINT' ? 130 : 143
}
