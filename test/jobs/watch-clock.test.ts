import { beforeEach, expect, it } from 'vitest'
import { startClockWatch } from '../../src/jobs/watch-clock.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { openFerry } from '../pipeline/push/ferry.ts'

const hourMs = 3_600_000

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A run with a request whose next poll is put off, and a watch by a clock that a test sets. */
async function waitingRun(work: (look: () => Promise<string[]>, set: (byMs: number) => void) => Promise<void>) {
  await using plain = ferry.deps('http://127.0.0.1:9')
  let set = 0
  const deps = { ...plain, now: () => new Date(Date.parse('2026-11-21T02:00:00Z') + performance.now() + set) }
  await ferry.planned(deps, 'properties', [{ partner_id: 'H-1', content: { code: '1' } }])
  await ferry.asked()
  const watch = startClockWatch(deps)
  try {
    await work(
      async () => {
        await watch.look()
        return (await ferry.asked()).map(({ look, inMs }) => `${look.split(' ')[0]} in ${Math.round(inMs)} ms`)
      },
      (byMs) => {
        set += byMs
      },
    )
  } finally {
    await watch.stop()
  }
}

it('looks that were put off are asked for again, once, when the clock of the database was set back by an hour', async () => {
  await waitingRun(async (look, set) => {
    expect(await look()).toEqual([])
    set(-hourMs)
    expect(await look()).toEqual(['look-at-run in 0 ms', 'look-at-submission in 0 ms'])
    expect(await look()).toEqual([])
  })
})

it('no look is asked for again when the clock of the database was set ahead, or back by a moment', async () => {
  await waitingRun(async (look, set) => {
    set(hourMs)
    expect(await look()).toEqual([])
    set(-1_000)
    expect(await look()).toEqual([])
    set(-1_000)
    expect(await look()).toEqual([])
  })
})
