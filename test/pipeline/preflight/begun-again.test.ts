import { beforeEach, expect, it } from 'vitest'
import { streamReports } from '../../../src/db/runs/report-rows.ts'
import { preflight } from '../../../src/pipeline/preflight/preflight.ts'
import { imbalances } from '../../../src/pipeline/report/report.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openJudgedLedger } from './judged-ledger.ts'

const table = await ofThisFile(openJudgedLedger())
beforeEach(async () => {
  await table.ferry.clear()
  await table.knowFramework()
})

it('a preflight that is begun again leaves what was asked for after its rows were counted to the next run', async () => {
  const { ledger } = table.ferry
  const { db } = ledger
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'one' } }], true)
  const begin = async () => {
    const run_id = await ledger.startRun()
    const read = { read: 0, folded: 0, unchanged: 0, changed: 0, null_cursor: 0, protection: 'transactions' } as const
    const none = { pending: null, watermark_before: null, watermark_after: null }
    await db
      .insertInto('run_stream')
      .values({ run_id, stream: 'properties', ...read, ...none })
      .execute()
    return await db.selectFrom('run').selectAll().where('run_id', '=', run_id).executeTakeFirstOrThrow()
  }
  const run = await begin()
  await preflight(table.deps, run)
  // The process dies before the step is noted; a person asks meanwhile.
  await ledger.askResend()
  await preflight(table.deps, run)
  const kind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }
  for (const id of await ledger.plan(run.run_id, kind)) await ledger.settleAll(id, 'confirmed')
  expect(imbalances(await db.transaction().execute((trx) => streamReports(trx, run.run_id, {})))).toEqual([])
  const next = await begin()
  await preflight(table.deps, next)
  expect(await ledger.plan(next.run_id, kind)).toHaveLength(1)
})
