import { describe, expect, it } from 'vitest'
import type { Knowledge } from '../../bench/growth/ledger-world.ts'
import { measureNight } from '../../bench/growth/measured-night.ts'
import { type Growth, growthOf } from '../../bench/growth/statement-work.ts'
import { testDatabase } from '../helpers/postgres.ts'

/** Answers of the larger test; the smaller one has a tenth. `node bench/statement-growth.ts` measures with 100,000. */
const rows = 4_000

/**
 * Statements that grow faster than their rows as they are written now, by what they begin with. Nothing may join them,
 * and one that is written anew leaves the list.
 */
const known: readonly { stage: RegExp; text: string }[] = [
  { stage: /^preflight/, text: "insert into pair select newcomer.row_id, declined.row_id, 'answered_and_declined'" },
  { stage: /^settlement/, text: 'update source_row set accepted_hash = case' },
  { stage: /^settlement by errors/, text: 'with named as ( select row_id, min(code) as code' },
  { stage: /^split/, text: 'with own as ( select distinct coalesce(mapping.company_id' },
  { stage: /^report/, text: 'with last_sent as (' },
]

const isKnown = ({ stage, text }: Growth) => known.some((one) => one.stage.test(stage) && text.startsWith(one.text))

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
    expect(problems.filter((growth) => !isKnown(growth))).toEqual([])
    const gone = known.filter((one) => !statements.some(({ text }) => text.startsWith(one.text)))
    expect(gone, 'listed as known, and no statement any more').toEqual([])
  })
})
