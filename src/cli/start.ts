import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { withRemedy } from '../db/database-trouble.ts'
import { boundHeap } from './bound-heap.ts'
import { type Cli, exitCodes } from './cli.ts'
import { createProgram } from './program.ts'
import { QueryFailed } from './query-failed.ts'
import { readable } from './readable.ts'
import { releaseEmbedded } from './release-embedded.ts'

/** Errors of whoever wrote the command line or the configuration. */
const usageCodes = new Set(['usage', 'config_invalid', 'contract_invalid', 'submission_unknown', 'role_unknown'])

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

  try {
    let code: number = exitCodes.well
    const program = await createProgram(cli, ownVersion(), args, (ended) => {
      code = ended
    })
    await program.exitOverride().parseAsync(args, { from: 'user' })
    process.exitCode = signalled === null ? code : exitCodeOf(signalled)
  } catch (error) {
    process.exitCode = signalled === null ? report(cli, error) : exitCodeOf(signalled)
  }
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}

function exitCodeOf(signal: 'SIGINT' | 'SIGTERM'): number {
  return signal === 'SIGINT' ? 130 : 143
}

/** One message that says what, where and what to do; a stack only for what should never happen. */
function report(cli: Cli, caught: unknown): number {
  // What the server says of a person's own query is about that, and not about how we are set up.
  const error = caught instanceof QueryFailed ? caught : withRemedy(caught)
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  const known = typeof code === 'string'
  const text = known ? `${code}: ${message}` : `internal_error: ${stack ?? message ?? String(error)}`
  cli.stderr.write(`nightferry: ${text.split('\n').map(readable).join('\n')}\n`)
  return known && usageCodes.has(code) ? exitCodes.usage : exitCodes.failed
}
