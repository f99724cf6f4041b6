import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ofSize } from './small-night.ts'

const bench = fileURLToPath(new URL('../../bench/webhooks.ts', import.meta.url))
/** In size S the machine may have other work, which says nothing of us: then no time is asserted. */
const { rate, seconds, timed } = ofSize({
  S: { rate: 200, seconds: 5, timed: false },
  M: { rate: 1000, seconds: 20, timed: true },
  L: { rate: 1000, seconds: 120, timed: true },
})

type Sent = { answered: number; refused: number; perSecond: number; p99: number }

test(`${rate} webhooks a second are verified and stored for ${seconds} s, and each that was answered is there`, async () => {
  // The bench itself fails if fewer are stored than were answered.
  const args = [bench, '--json', '--rate', String(rate), '--seconds', String(seconds)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { paced, fastest } = JSON.parse(stdout) as { paced: Sent; fastest: Sent }
  const words = `${Math.round(paced.perSecond)} a second, p99 ${paced.p99.toFixed(1)} ms`
  process.stdout.write(`${words}; at most ${Math.round(fastest.perSecond)} a second\n`)
  expect(paced.refused).toBe(0)
  expect(paced.answered).toBeGreaterThanOrEqual(rate * seconds * 0.98)
  if (timed) {
    expect(paced.p99).toBeLessThanOrEqual(50)
    expect(paced.perSecond).toBeGreaterThanOrEqual(rate * 0.99)
  }
})
