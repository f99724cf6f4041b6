import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { nextDraw } from './draws.ts'
import { atOnce, calmTables, expectSameNight, ofSize, smallNight, wholeCodes } from './small-night.ts'

const hotels = ofSize({ S: 60, M: 600, L: 10_000 })

test(`a night of ${hotels} hotels that is killed every 0.5 to 3 seconds of its work until it is done finishes`, async () => {
  const calm = await calmTables(hotels)
  await using night = await smallNight(hotels)
  const draw = nextDraw(3)
  let kills = 0
  for (let through = false; !through; ) {
    const victim = night.start()
    const over = () => victim.child.exitCode !== null || victim.child.signalCode !== null
    // From when it is at work: on a busy machine a process needs longer than that to begin.
    await vi.waitFor(
      async () => {
        const { rows } = await night.world.pool.query(
          `select from pg_stat_activity where datname = current_database() and starts_with(application_name, 'nightferry queue')`,
        )
        expect(over() || rows.length > 0).toBe(true)
      },
      { timeout: 120_000, interval: 20 },
    )
    await Promise.race([victim.ended, delay(500 + draw() * 2_500)])
    if (!over()) {
      victim.child.kill('SIGKILL')
      if (!over()) await once(victim.child, 'exit')
    }
    const { code, signal, stderr } = await victim.ended
    through = wholeCodes.includes(code)
    if (!through) {
      expect(signal, stderr).toBe('SIGKILL')
      kills += 1
    }
    expect(kills).toBeLessThan(hotels)
  }
  expect(kills).toBeGreaterThan(0)
  await expectSameNight(night, calm, kills * atOnce)
})
