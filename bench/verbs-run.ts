import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Seconds of one call: by the clock, and of processors, with what its threads and its own children took. */
export type Spent = { wall: number; processor: number }

export type Called = { command: readonly string[]; folder: string; environment: NodeJS.ProcessEnv }

/**
 * Calls a command so many times, one after the other, and gives the mean. A shell counts: its clock of processors ticks
 * 100 times a second.
 */
export async function spentBy({ command, folder, environment }: Called, times: number): Promise<Spent> {
  const script = `n=${times}; while [ $n -gt 0 ]; do "$@" >/dev/null || exit 1; n=$((n - 1)); done; times`
  const began = performance.now()
  const { stdout } = await promisify(execFile)('sh', ['-c', script, 'sh', ...command], {
    cwd: folder,
    env: environment,
  })
  const wall = (performance.now() - began) / 1000 / times
  const children = stdout.trim().split('\n').at(-1) ?? ''
  const processor = [...children.matchAll(/(\d+)m([\d.,]+)s/g)].reduce(
    (sum, [, minutes, seconds = '']) => sum + Number(minutes) * 60 + Number(seconds.replace(',', '.')),
    0,
  )
  return { wall, processor: processor / times }
}
