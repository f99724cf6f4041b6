import { describe, expect, it } from 'vitest'
import type { Knowledge } from '../../../bench/growth/ledger-world.ts'
import { measureNight } from '../../../bench/growth/measured-night.ts'
import { measurePartitions } from '../../../bench/growth/measured-partitions.ts'
import { measureSuspensions } from '../../../bench/growth/measured-suspensions.ts'
import { growthOf, type StatementWork } from '../../../bench/growth/statement-work.ts'
import { testDatabase } from '../../helpers/postgres.ts'

/** Answers of the larger test; the smaller one has a tenth. `node bench/statement-growth.ts` measures with 100,000. */
const rows = 10_000

const said = {
  none: 'nothing of the tables',
  landed: 'only what had landed, and nothing of what was sent',
  midway: 'only the first requests of the night',
} satisfies Partial<Record<Knowledge, string>>

describe.each(Object.entries(said))('when the planner knows %s: %s', (knows) => {
  it.each<[string, (url: string, rows: number, knows: Knowledge) => Promise<StatementWork[]>, number]>([
    ['of a night', measureNight, 150],
    ['that plans and settles rows of many frameworks', measurePartitions, 40],
    ['beside many suspended hotels', measureSuspensions, 40],
  ])('no statement %s grows faster than its rows', { timeout: 900_000 }, async (_, measure, least) => {
    const measured = async (count: number) => {
      await using database = await testDatabase()
      return await measure(database.url, count, knows as Knowledge)
    }
    const statements = growthOf(await measured(rows / 10), await measured(rows), rows)
    expect(statements.length).toBeGreaterThan(least)
    const problems = statements.filter(({ problem }) => problem !== null)
    expect(problems).toEqual([])
  })
})
