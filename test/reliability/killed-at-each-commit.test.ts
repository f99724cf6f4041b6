import { once } from 'node:events'
import { beforeAll, expect, it } from 'vitest'
import type { FinalTables } from '../helpers/final-tables.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import { atOnce, calmTables, expectSameNight, ofSize, smallNight } from './small-night.ts'

const points = ofSize({ S: 40, M: 120, L: 1000 })

let calm: FinalTables
/** Commits of an uninterrupted night, from its first one on. */
let commits: number

beforeAll(async () => {
  calm = await calmTables()
  await using counted = await smallNight()
  await using proxy = await openDatabaseProxy(counted.world.databaseUrl, () => 'pass')
  const ended = await counted.start({ DATABASE_URL: proxy.url }).ended
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  commits = proxy.commits()
  // Each of them is a durable transition: with fewer than half as many there would not be enough places to kill at.
  expect(commits).toBeGreaterThan(points / 2)
})

/** Evenly over the night, before a commit and after it in turn. */
const places = Array.from({ length: points }, (_, index) => ({
  share: (index + 0.5) / points,
  side: index % 2 === 0 ? ('before' as const) : ('after' as const),
}))

it.each(places)('a process killed $side the commit at $share of the night loses nothing', async ({ share, side }) => {
  await using night = await smallNight()
  const nth = Math.ceil(share * commits)
  let killed: readonly string[] | undefined
  await using proxy = await openDatabaseProxy(night.world.databaseUrl, (passing) => {
    if (killed !== undefined) return 'cut'
    if (passing.what !== 'commit' || passing.nth < nth || passing.side !== side) return 'pass'
    killed = passing.wrote
    victim.child.kill('SIGKILL')
    return 'cut'
  })
  const victim = night.start({ DATABASE_URL: proxy.url })
  if (victim.child.exitCode === null && victim.child.signalCode === null) await once(victim.child, 'exit')
  expect({ killed, signal: victim.child.signalCode }).toMatchObject({ killed: expect.anything(), signal: 'SIGKILL' })

  const resumed = await night.run()
  expect(resumed, resumed.stderr).toMatchObject({ code: 0 })
  await expectSameNight(night, calm, atOnce)
})
