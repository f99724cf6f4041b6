import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { nextDraw } from './draws.ts'
import { atOnce, calmTables, expectSameNight, ofSize, smallNight } from './small-night.ts'

const wanted = ofSize({ S: 30, M: 150, L: 1000 })

test(`nights whose connections the server ends at ${wanted} random instants lose nothing`, async () => {
  const calm = await calmTables()
  const draw = nextDraw(5)
  for (let ended = 0; ended < wanted; ) {
    await using night = await smallNight()
    const { pool } = night.world
    let through = false
    const endOne = async (): Promise<number> => {
      const { rows } = await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'nightferry%'
           and application_name <> 'nightferry tests' order by random() limit 1`,
      )
      return rows.length
    }
    const ending = (async () => {
      let count = 0
      while (!through) {
        await delay(50 + draw() * 450)
        if (!through) count += await endOne()
      }
      return count
    })()
    try {
      for (let runs = 1; !through; runs++) {
        const run = await night.start().ended
        through = run.code === 0
        if (!through) expect(run.code, run.stderr).toBe(1)
        // A night that never gets on must fail the test, not hold it up.
        expect(runs).toBeLessThan(40)
      }
    } finally {
      through = true
      ended += await ending
    }
    await expectSameNight(night, calm, ended * atOnce)
  }
})
