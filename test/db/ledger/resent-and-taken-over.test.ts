import { beforeEach, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { releaseResends } from '../../../src/db/ledger/rows-again.ts'
import { adoptUnfinished } from '../../../src/db/runs/run-life.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const kind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }

it('a row that a person wants sent again is sent by the next run, once, though that took it over and saw it accepted', async () => {
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'one' } }], true)
  const first = await ledger.startRun()
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'two' } }])
  const [id = 0] = await ledger.plan(first, kind)
  await ledger.markSent(id)
  await ledger.db.updateTable('run').set({ state: 'failed' }).where('run_id', '=', first).execute()
  await ledger.askResend()
  const second = await ledger.startRun()
  await ledger.inTransaction((trx) => adoptUnfinished(trx, second, []))
  await ledger.settleAll(id, 'confirmed')
  expect(await releaseResends(ledger.db, {}, streamNames)).toBe(1)
  await ledger.db
    .updateTable('acceptance')
    .set((eb) => ({ checked_hash: eb.ref('wanted_hash') }))
    .execute()
  const [again = 0, ...more] = await ledger.plan(second, kind)
  expect(await ledger.keysOf(again)).toHaveLength(1)
  expect(more).toEqual([])
  await ledger.markSent(again)
  await ledger.settleAll(again, 'unknown')
  expect(await ledger.plan(second, kind)).toEqual([])
})
