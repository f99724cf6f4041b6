import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export type SandboxProcess = { pid: number; url: string; filesUrl: string; stop(): Promise<void> }

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/**
 * Starts `nightferry sandbox` in a process of its own, with its state in `folder`; resolves when it answers.
 * @param script to start: that of the sources unless it is given.
 * @param environment of the process, besides what it needs to be found.
 */
export async function startSandboxProcess(
  folder: string,
  options: readonly string[],
  script = main,
  environment: Readonly<Record<string, string>> = {},
): Promise<SandboxProcess> {
  const fixed = ['sandbox', '--json', '--port', '0', '--set', `database.folder=${folder}`]
  const child = spawn(process.execPath, [script, ...fixed, ...options], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...environment },
    // The channel ends the sandbox with this process, however that goes.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let said = ''
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    said += line
    if (line === '}') break
  }
  if (said === '' || child.pid === undefined) throw new Error('the sandbox ended before it answered')
  const { url, filesUrl } = JSON.parse(said) as { url: string; filesUrl: string }
  return {
    pid: child.pid,
    url,
    filesUrl,
    stop: async () => {
      if (child.exitCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}
