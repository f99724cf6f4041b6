import { expect, it } from 'vitest'
import { openExplainedPool } from '../../../bench/growth/explained-pool.ts'
import { createDatabase } from '../../../src/db/database.ts'
import { planKind } from '../../../src/db/ledger/plan-kind.ts'
import { openLedger } from '../../db/ledger/ledger.ts'
import { testDatabase } from '../../helpers/postgres.ts'

const hotels = Array.from({ length: 200 }, (_, number) => `H-${number}`)
const rowsOf = (count: number, content: Record<string, unknown>) =>
  hotels.flatMap((partner_id) =>
    Array.from({ length: count }, (_, number) => ({ partner_id, row_key: `${partner_id} ${number}`, content })),
  )

it('of a ledger that one scan reads quickly, planning does not read all of it for each hotel', async () => {
  await using database = await testDatabase()
  const ledger = await openLedger(database.url)
  await ledger.landChecked('properties', rowsOf(1, { name: 'Hotel' }), true)
  await ledger.landChecked('framework_answers', rowsOf(15, { value: '1' }))
  await ledger.landChecked('calculator_inputs', rowsOf(13, { inputs: { a: '1' } }))
  await ledger.landChecked('calculator_settings', rowsOf(1, { automatic: true }))
  await ledger.pool.query('analyze source_row, acceptance')
  const runId = await ledger.startRun()
  await ledger.close()
  const { pool, during, statements } = await openExplainedPool(database.url)
  const planned = await during('planning', () =>
    createDatabase(pool)
      .transaction()
      .execute((trx) =>
        planKind(trx, {
          runId,
          kind: 'calculators',
          streams: ['calculator_inputs', 'calculator_settings'],
          kindStreams: ['calculator_inputs', 'calculator_settings'],
          requires: { calculator_inputs: ['properties'], calculator_settings: ['properties'] },
          partitionBy: null,
          judgesProperties: true,
          maxRows: 1_000,
          requests: 100,
          sweep: true,
        }),
      ),
  )
  await pool.end()
  expect(planned).toHaveLength(3)
  const visitsARow = statements().map(({ text, work }) => ({ text, visits: Math.round(work / (14 * hotels.length)) }))
  expect(visitsARow.filter(({ visits }) => visits > 50)).toEqual([])
})
