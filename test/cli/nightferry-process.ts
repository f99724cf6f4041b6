import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from '../helpers/leaks.ts'

/** Where Node keeps what it has compiled: a process of the suite starts in half the time. */
const compiled = { NODE_COMPILE_CACHE: join(tmpdir(), 'nightferry-compiled') }

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type Running = {
  child: ChildProcess
  /** What it has said on standard error so far. */
  stderr(): string
  ended: Promise<Ended>
}

/** A folder of its own for processes to work in, removed when disposed of. */
export async function workingFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'nightferry-cli-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Whether the environment or an argument says which lines are logged. */
function setsLogLevel(args: readonly string[], env: Record<string, string>): boolean {
  return env.NIGHTFERRY_LOG_LEVEL !== undefined || args.some((arg) => arg.startsWith('log.level='))
}

/** What a verb says on standard error without its log. */
function withoutLog(text: string): string {
  return text.replaceAll(/^\{"level":.*\n?/gm, '')
}

/**
 * Starts the program as a person would, with nothing in its environment but what is given.
 *
 * What it writes is looked through for secrets, at trace level unless the test sets another. A verb that a person follows
 * writes no log by itself, so the test is not shown the log that it then writes; what the daemon writes is its log.
 */
export function start(cwd: string, args: readonly string[], env: Record<string, string> = {}): Running {
  const traced = !setsLogLevel(args, env)
  const shown = (text: string) => (traced && args[0] !== 'serve' ? withoutLog(text) : text)
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...compiled, ...(traced && { NIGHTFERRY_LOG_LEVEL: 'trace' }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(() => {
    inspect(`standard output of nightferry ${args.join(' ')}`, stdout)
    inspect(`standard error of nightferry ${args.join(' ')}`, stderr)
    return { code: child.exitCode, signal: child.signalCode, stdout, stderr: shown(stderr) }
  })
  return { child, stderr: () => shown(stderr), ended }
}

/** Runs the program to its end. */
export async function nightferry(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  return await start(cwd, args, env).ended
}
