import { describe, expect, it } from 'vitest'
import type { Knowledge } from '../../bench/growth/ledger-world.ts'
import { measureNight } from '../../bench/growth/measured-night.ts'
import { type Growth, growthOf } from '../../bench/growth/statement-work.ts'
import { testDatabase } from '../helpers/postgres.ts'

/** Answers of the larger test; the smaller one has a tenth. `node bench/statement-growth.ts` measures with 100,000. */
const rows = 10_000

/** Known to be red: counting pending rows again visits 15 times as many for 10 times the rows, by another plan. */
const known = { stage: 'preflight, again', text: 'with pending as ( select stream, count(*) as rows from ledger' }

const said: Record<Exclude<Knowledge, 'empty' | 'good'>, string> = {
  none: 'nothing of the tables',
  landed: 'only what had landed, and nothing of what was sent',
  midway: 'only the first requests of the night',
}

describe.each(Object.entries(said))('when the planner knows %s: %s', (knows) => {
  it('no statement grows faster than its rows', { timeout: 900_000 }, async () => {
    const measured = async (count: number) => {
      await using database = await testDatabase()
      return await measureNight(database.url, count, knows as Knowledge)
    }
    const statements = growthOf(await measured(rows / 10), await measured(rows), rows)
    expect(statements.length).toBeGreaterThan(150)
    const problems = statements.filter(({ problem }) => problem !== null)
    const isKnown = ({ stage, text }: Growth) => stage === known.stage && text.startsWith(known.text)
    expect(problems.filter((growth) => !isKnown(growth))).toEqual([])
  })
})
