import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

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

/** Starts the program as a person would, with nothing in its environment but what is given. */
export function start(cwd: string, args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...compiled, ...env },
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
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, signal: child.signalCode, stdout, stderr }))
  return { child, stderr: () => stderr, ended }
}

/** Runs the program to its end. */
export async function nightferry(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  return await start(cwd, args, env).ended
}
