import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import type { FinalTables } from '../helpers/final-tables.ts'
import { nextDraw } from './draws.ts'
import { atOnce, calmTables, expectSameNight, ofSize, type SmallNight, smallNight } from './small-night.ts'

let calm: FinalTables

beforeAll(async () => {
  calm = await calmTables()
})

/**
 * Stops a night again and again until it gets through. The instants lie within the first seconds of a process; on a
 * machine on which a start alone takes as long they grow, so that the night gets on.
 * @returns how often it was stopped.
 */
async function stopAgainAndAgain(
  night: SmallNight,
  signal: 'SIGKILL' | 'SIGTERM',
  atMost: number,
  draw: () => number,
): Promise<number> {
  for (let stops = 0; ; ) {
    const victim = night.start()
    const instant = (300 + draw() * 2_400) * Math.max(1, stops / 15)
    const early = stops < atMost ? await Promise.race([victim.ended, delay(instant, undefined)]) : await victim.ended
    if (early !== undefined) {
      expect(early, early.stderr).toMatchObject({ code: 0, signal: null })
      return stops
    }
    const told = performance.now()
    victim.child.kill(signal)
    if (victim.child.exitCode === null && victim.child.signalCode === null) await once(victim.child, 'exit')
    expect(performance.now() - told, 'milliseconds from the signal to the end').toBeLessThan(10_000)
    const { code, signal: by, stderr } = await victim.ended
    if (code === 0) return stops
    // A process that was told to end before it listens is ended by the signal itself.
    expect(by === signal || (signal === 'SIGTERM' && code === 143), `${by} ${code} ${stderr}`).toBe(true)
    stops += 1
  }
}

test.each([
  { signal: 'SIGKILL', stops: ofSize({ S: 60, M: 300, L: 1000 }) },
  { signal: 'SIGTERM', stops: ofSize({ S: 50, M: 100, L: 500 }) },
] as const)('nights that get $signal at $stops random instants lose nothing', async ({ signal, stops }) => {
  const draw = nextDraw(20_261_123)
  for (let left: number = stops; left > 0; ) {
    await using night = await smallNight()
    const stopped = await stopAgainAndAgain(night, signal, left, draw)
    await expectSameNight(night, calm, stopped * atOnce)
    left -= stopped
  }
})
