/**
 * `npm run test:busy`: the tests beside a load, as on a machine that others use too. `BUSY_PROCESSES` says how many
 * processes keep a core each busy (14 unless said otherwise), and `BUSY_MINUTES` for how long at most (40). What
 * follows `--` goes to vitest: `npm run test:busy -- test/cli`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

const processes = wholeNumber('BUSY_PROCESSES', 14, 64)
const minutes = wholeNumber('BUSY_MINUTES', 40, 240)

/** Ends with its time, or at once when the process that started it is gone. */
const busy = `
  process.on('disconnect', () => process.exit())
  const end = Date.now() + ${minutes * 60_000}
  const work = () => {
    const pause = Date.now() + 50
    while (Date.now() < pause);
    if (Date.now() < end) setImmediate(work)
    else process.exit()
  }
  work()`

function wholeNumber(variable: string, usual: number, most: number): number {
  const number = Number(process.env[variable] ?? usual)
  if (Number.isInteger(number) && number >= 0 && number <= most) return number
  throw new Error(`${variable} must be a whole number from 0 to ${most}`)
}

function startLoad(): ChildProcess {
  return spawn(process.execPath, ['--eval', busy], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

const load = Array.from({ length: processes }, startLoad)
let status = 1
try {
  // The tests are to meet the load from their first moment on.
  await delay(2_000)
  const tests = spawn('vitest', ['run', ...process.argv.slice(2)], { stdio: 'inherit' })
  // Ctrl-C in a terminal has reached the tests already.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => void tests.kill('SIGTERM'))
  const [code] = (await once(tests, 'exit')) as [number | null]
  status = code ?? 1
  const [average = 0] = loadavg()
  process.stderr.write(
    `Load average at the end: ${average.toFixed(1)}, with ${processes} busy processes beside the tests.\n`,
  )
} finally {
  for (const one of load) one.kill()
}
process.exit(status)
