import { setImmediate } from 'node:timers/promises'
import { CommanderError } from 'commander'
import { withRemedy } from '../db/database-trouble.ts'
import { boundHeap } from '../heap.ts'
import { type Cli, exitCodes, ownVersion, QueryFailed } from './cli.ts'
import { createProgram } from './program.ts'
import { readable } from './show/readable.ts'
import { isFailureOfAct, releaseEmbedded, shutdownLimitMs } from './whole-process.ts'

/** What only main.ts reads from the process. */
export type Surroundings = Pick<Cli, 'environment' | 'workingFolder'> & {
  /** The command line after the program's name. */
  args: readonly string[]
}

/**
 * How long an embedded server may take to end when the work is not waited for: after a second signal, and when a
 * stop is cut short, so that ten seconds are enough. It has been told by then, and ends by itself. Milliseconds.
 */
const [askedReleaseMs, cutReleaseMs] = [5_000, 900]

/** Runs the verb of the command line to its end; the process ends with its exit code. */
export async function start({ args, ...surroundings }: Surroundings): Promise<void> {
  boundHeap()

  const interrupted = new AbortController()
  let signalled: EndingSignal | null = null
  let breakingOff = false
  // The server is taken away from under work that nobody waits for: what fails of that is no reason of this end.
  const breakOff = (limitMs: number, exit: () => void) => {
    breakingOff = true
    process.on('uncaughtException', () => {})
    void releaseEmbedded(limitMs).then(exit)
  }
  // What never answers must not keep us: a database, a receiver, a statement. Not a reason to stay up by itself.
  const limitEnd = (since: string, exit: () => void) => {
    const limitMs = shutdownLimitMs()
    setTimeout(() => {
      if (breakingOff) return
      process.stderr.write(cutShort(since, limitMs))
      breakOff(cutReleaseMs, exit)
    }, limitMs).unref()
  }
  const stop = (signal: EndingSignal) => {
    signalled = signal
    interrupted.abort()
    limitEnd(signal, () => process.exit(exitCodeOf(signal)))
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (signalled === null) return stop(signal)
      // The second one means it: whatever is in flight is found again by the next start. A third one waits for nothing.
      const exit = () => process.exit(exitCodeOf(signal))
      if (breakingOff) exit()
      breakOff(askedReleaseMs, exit)
    })
  }
  // The terminal is gone. One that closes may say so twice, by its shell and by the system: nobody is in a hurry.
  const hungUp = () => {
    if (signalled === null) stop('SIGHUP')
  }
  process.on('SIGHUP', hungUp)
  // Started with a channel, as the demo starts the sandbox: when the one that started us is gone, we are not wanted
  // either.
  process.on('disconnect', () => interrupted.abort())
  process.channel?.unref()
  // The one that read our output is gone; the work goes on, and the tables say how it went. A report that did not fit
  // on a disk is another matter: anyone who takes the file for it must learn that it is not whole.
  let unwritten: Error | null = null
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') unwritten ??= error
  })
  process.stderr.on('error', () => {})

  const cli: Cli = {
    ...surroundings,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupted.signal,
    onHangUp: (listener) => process.off('SIGHUP', hungUp).on('SIGHUP', listener),
    onWarning: (listener) => {
      // Node.js itself listens, to write them, unless it was told not to.
      if (process.listenerCount('warning') === 0) return
      process.removeAllListeners('warning')
      process.on('warning', listener)
    },
    onEnding: (outcome) => {
      const code = 'code' in outcome ? outcome.code : failed(cli, outcome.error)
      if (signalled !== null) return
      limitEnd('the verb had its result', () => process.exit(codeInTheEnd(code)))
    },
    now: () => new Date(),
  }

  const codeInTheEnd = (code: number): number => {
    const ended = unwritten === null ? code : report(cli, unwritten)
    return signalled === null ? ended : exitCodeOf(signalled)
  }

  const code = await runVerb(cli, args)
  // A write that failed says so in the turn after it.
  await setImmediate()
  process.exitCode = codeInTheEnd(code)
}

function cutShort(since: string, limitMs: number): string {
  const trouble = { code: 'shutdown_cut_short', limit: `${limitMs / 1000} seconds after ${since}` }
  return `nightferry: ${trouble.code}: Not everything had ended ${trouble.limit}, so it was broken off. Nothing is lost: a run goes on with the next start, and any other verb can be called again.\n`
}

const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const
type EndingSignal = keyof typeof signalCodes

function exitCodeOf(signal: EndingSignal): number {
  return signalCodes[signal]
}

/** Errors in the command line or the configuration. */
const usageCodes = new Set([
  'usage',
  'config_invalid',
  'contract_invalid',
  'submission_unknown',
  'body_unwritten',
  'body_removed',
  'role_unknown',
])

/**
 * Runs the verb of a command line to its end. Nothing of the process is touched but what `cli` holds, so anyone who has
 * a `Cli` of its own, as a test has, calls verbs without a process.
 * @param args the command line after the program's name.
 * @returns the exit code. An error is written to `cli.stderr`, never thrown.
 */
export async function runVerb(cli: Cli, args: readonly string[]): Promise<number> {
  try {
    let code: number = exitCodes.well
    const program = await createProgram(cli, ownVersion(), args, (ended) => {
      code = ended
    })
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    return failed(cli, error)
  }
}

/** The exit codes of errors that were told while what the verb had opened was still to be closed. */
const told = new WeakMap<object, number>()

/** Reports why a verb failed, unless that was done. @returns the exit code. */
function failed(cli: Cli, error: unknown): number {
  const known = told.get(error as object)
  if (known !== undefined) return known
  // A person who pressed Ctrl-C is not told what became of the verb, unless it was to change something.
  const code = cli.signal.aborted && !isFailureOfAct(error) ? exitCodes.failed : report(cli, error)
  if (typeof error === 'object' && error !== null) told.set(error, code)
  return code
}

/**
 * Writes one message to `cli.stderr` that says what, where and what to do; a stack only for what should never happen.
 * @returns the exit code that goes with it.
 */
export function report(cli: Cli, caught: unknown): number {
  // What the server says of a person's own query is about that, and not about how we are set up.
  const error = caught instanceof QueryFailed ? caught : withRemedy(caught)
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  const known = typeof code === 'string'
  const text = known ? `${code}: ${message}` : `internal_error: ${stack ?? message ?? String(error)}`
  cli.stderr.write(`nightferry: ${text.split('\n').map(readable).join('\n')}\n`)
  return known && usageCodes.has(code) ? exitCodes.usage : exitCodes.failed
}
