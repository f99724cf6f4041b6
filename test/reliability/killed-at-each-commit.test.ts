import { once } from 'node:events'
import { beforeAll, expect, it } from 'vitest'
import type { FinalTables } from '../helpers/final-tables.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import { atOnce, calmTables, expectSameNight, ofSize, smallNight } from './small-night.ts'

const points = ofSize({ XS: 12, S: 40, M: 120, L: 1000 })

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

/** How many commits a night had that ended before the one at which it was to be killed; null once it was killed. */
async function killedAt(nth: number, side: 'before' | 'after'): Promise<number | null> {
  await using night = await smallNight()
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
  if (killed === undefined) {
    expect(victim.child.exitCode, victim.stderr()).toBe(0)
    return proxy.commits()
  }
  expect(victim.child.signalCode).toBe('SIGKILL')

  const resumed = await night.run()
  expect(resumed, resumed.stderr).toMatchObject({ code: 0 })
  await expectSameNight(night, calm, atOnce)
  return null
}

it.each(places)('a process killed $side the commit at $share of the night loses nothing', async ({ share, side }) => {
  // A night on a busy machine looks after its tasks less often, and has fewer commits.
  let nth = Math.ceil(share * commits)
  for (let had = await killedAt(nth, side); had !== null; had = await killedAt(nth, side)) {
    expect(had).toBeLessThan(nth)
    nth = Math.ceil(share * had)
  }
})
