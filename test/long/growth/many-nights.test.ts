import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { openExplainedPool } from '../../../bench/growth/explained-pool.ts'
import { createDatabase } from '../../../src/db/database.ts'
import { planKind } from '../../../src/db/ledger/plan-kind.ts'
import { openLedger } from '../../db/ledger/ledger.ts'
import { testDatabase } from '../../helpers/postgres.ts'

const rows = 1_000

/**
 * Rows that plans visit, and how many rows are planned, in the last of so many nights, each of which sent every row
 * with other content. In the last one half of the rows were sent already, and nobody knows what became of them.
 */
async function planned(nights: number, analyzed: number): Promise<{ visits: number; rows: number }> {
  await using database = await testDatabase()
  const ledger = await openLedger(database.url)
  const answers = Array.from({ length: rows }, (_, number) => ({ partner_id: `H-${number}`, content: { value: '1' } }))
  await ledger.landChecked('framework_answers', answers)
  let runId = await ledger.startRun()
  // So many that the planner reads no table of requests whole because it is small.
  await sql`
    insert into submission (run_id, kind, state, row_count)
    select ${runId}, 'company_mappings', 'settled', 0 from generate_series(1, 5000)`.execute(ledger.db)
  for (let night = 1; night <= nights; night++) {
    await sql`update run set state = 'finished'`.execute(ledger.db)
    runId = await ledger.startRun()
    const last = night === nights
    await sql`
      with sent as (
        insert into submission (run_id, kind, state, row_count, attempted_at, settled_at, rest_outcome)
        values (${runId}, 'framework_answers', 'settled', ${rows}, now(), now(), 'unknown')
        returning submission_id
      )
      insert into submission_row (submission_id, row_id, sent_hash)
      select submission_id, row_id, case when ${last}::boolean then desired_hash else '\\x00' end
      from sent, source_row where not ${last}::boolean or row_id % 2 = 0`.execute(ledger.db)
    if (night === analyzed) await ledger.pool.query('analyze')
  }
  // Once: what a table has had, until it is vacuumed, counts as visited.
  await sql`
    update acceptance set outcome = 'unknown', outcome_submission = line.last
    from (select row_id, max(submission_id) as last from submission_row group by row_id) line
    where line.row_id = acceptance.row_id`.execute(ledger.db)
  if (analyzed === nights) await ledger.pool.query('analyze')
  await ledger.close()
  const { pool, during, statements } = await openExplainedPool(database.url)
  const ids = await during('planning', () =>
    createDatabase(pool)
      .transaction()
      .execute((trx) =>
        planKind(trx, {
          runId,
          kind: 'framework_answers',
          streams: ['framework_answers'],
          kindStreams: ['framework_answers'],
          requires: {},
          partitionBy: null,
          judgesProperties: false,
          maxRows: 10 * rows,
          requests: 100,
          sweep: true,
        }),
      ),
  )
  const { rows: carried } = await pool.query('select from submission_row where submission_id = any($1)', [ids])
  await pool.end()
  return { visits: statements().reduce((sum, { work }) => sum + work, 0), rows: carried.length }
}

it.each([
  ['nothing', 0],
  ['the first night', 1],
  ['all nights', Infinity],
])('planning reads no more of a hundred nights than of ten, when the planner knows %s', async (_, until) => {
  const few = await planned(10, Math.min(until, 10))
  const many = await planned(100, Math.min(until, 100))
  expect([few.rows, many.rows]).toEqual([rows / 2, rows / 2])
  expect(many.visits).toBeLessThan(1.2 * few.visits)
})
