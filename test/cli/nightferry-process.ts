import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { runVerb } from '../../src/cli/start.ts'
import { inspect } from '../helpers/leaks.ts'

/** Where Node keeps what it has compiled: a process of the suite starts in half the time. */
const compiled = { NODE_COMPILE_CACHE: join(tmpdir(), 'nightferry-compiled') }

export const mainOfSources = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** The sources, or what NIGHTFERRY_TESTED names: a built program starts with half the work. */
const main = process.env.NIGHTFERRY_TESTED ?? mainOfSources

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
  // A program that a verb left behind may write there still.
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  return { path, [Symbol.asyncDispose]: remove }
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
 * What it writes is looked through for secrets, at trace level unless the test sets another. A verb that a person
 * follows writes no log by itself, so the test is not shown the log that it then writes; what the daemon writes is its
 * log.
 * @param program the main file of another copy of the sources.
 */
export function start(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
  program: string = main,
): Running {
  const traced = !setsLogLevel(args, env)
  const shown = (text: string) => (traced && args[0] !== 'serve' ? withoutLog(text) : text)
  const child = spawn(process.execPath, [program, ...args], {
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

/** Runs the program as a process of its own to its end. */
export async function nightferryProcess(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  return await start(cwd, args, env).ended
}

/**
 * Runs a verb to its end within the process of the test, as `nightferryProcess` does with one of its own: what it reads
 * and writes of a process is its environment, its folder and its two streams, and it is given those.
 */
export async function nightferry(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const forProcess = Object.keys(env).find((name) => name.startsWith('NODE_'))
  if (forProcess !== undefined) throw new Error(`only a process reads ${forProcess}: use nightferryProcess`)
  const traced = !setsLogLevel(args, env)
  const [stdout, stderr] = [new Text(), new Text()]
  const code = await runVerb(
    {
      environment: { ...(traced && { NIGHTFERRY_LOG_LEVEL: 'trace' }), ...env },
      workingFolder: cwd,
      stdout,
      stderr,
      signal: new AbortController().signal,
      now: () => new Date(),
    },
    args,
  )
  inspect(`standard output of nightferry ${args.join(' ')}`, stdout.text)
  inspect(`standard error of nightferry ${args.join(' ')}`, stderr.text)
  return { code, signal: null, stdout: stdout.text, stderr: traced ? withoutLog(stderr.text) : stderr.text }
}

/** Keeps what is written to it. */
class Text extends Writable {
  text = ''
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}
