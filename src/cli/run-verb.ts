import { CommanderError } from 'commander'
import { withRemedy } from '../db/database-trouble.ts'
import { type Cli, exitCodes, ownVersion, QueryFailed } from './cli.ts'
import { createProgram } from './program.ts'
import { readable } from './show/readable.ts'

/** Errors in the command line or the configuration. */
const usageCodes = new Set(['usage', 'config_invalid', 'contract_invalid', 'submission_unknown', 'role_unknown'])

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
    // A person who pressed Ctrl-C is not told what became of the verb.
    return cli.signal.aborted ? exitCodes.failed : report(cli, error)
  }
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
