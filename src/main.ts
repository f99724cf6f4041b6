#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { boundHeap } from './cli/bound-heap.ts'
import { type Cli, exitCodes } from './cli/cli.ts'
import { createProgram } from './cli/program.ts'
import { readable } from './cli/readable.ts'

/** Errors of whoever wrote the command line or the configuration. */
const usageCodes = new Set(['usage', 'config_invalid', 'contract_invalid', 'submission_unknown', 'role_unknown'])

boundHeap()

const interrupted = new AbortController()
let signalled: 'SIGINT' | 'SIGTERM' | null = null
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second one means it: whatever is in flight is found again by the next start.
    if (signalled !== null) process.exit(exitCodeOf(signal))
    signalled = signal
    interrupted.abort()
  })
}
// Started with a channel, as the demo starts the sandbox: when whoever started us is gone, we are not wanted either.
process.on('disconnect', () => interrupted.abort())
process.channel?.unref()
// Whoever read our output is gone; the work goes on, and the tables say how it went.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
const cli: Cli = {
  environment: process.env,
  workingFolder: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupted.signal,
  now: () => new Date(),
}

try {
  let code: number = exitCodes.well
  const program = createProgram(cli, version, (ended) => {
    code = ended
  })
  await program.exitOverride().parseAsync()
  process.exitCode = signalled === null ? code : exitCodeOf(signalled)
} catch (error) {
  process.exitCode = report(error)
}

function exitCodeOf(signal: 'SIGINT' | 'SIGTERM'): number {
  return signal === 'SIGINT' ? 130 : 143
}

/** One message that says what, where and what to do; a stack only for what should never happen. */
function report(error: unknown): number {
  if (signalled !== null) return exitCodeOf(signalled)
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  const known = typeof code === 'string'
  const text = known ? `${code}: ${message}` : `internal_error: ${stack ?? message ?? String(error)}`
  cli.stderr.write(`nightferry: ${text.split('\n').map(readable).join('\n')}\n`)
  return known && usageCodes.has(code) ? exitCodes.usage : exitCodes.failed
}
