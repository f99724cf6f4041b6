import { beforeEach, expect, it } from 'vitest'
import { rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { statusCounts } from '../../../src/db/ledger/status-counts.ts'
import { closeBreaker, deniedKeyInUse, openBreaker, reserveCalls } from '../../../src/db/service-key/service-key.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openLedger } from './ledger.ts'

const requires = { framework_answers: ['properties'], properties: [] } as const
const said = { errorCode: 'api_key_expired', serviceMessage: 'It\0expired.' }

const ledger = await ofThisFile(openLedger())
beforeEach(async () => {
  await ledger.clear()
  await emptyTables(ledger.db, ['service_key'])
})

const row = (partner_id: string, row_key: string) => ({ partner_id, row_key, content: { value: row_key } })
const refuse = async (fingerprint: string) => {
  await reserveCalls(ledger.db, fingerprint, 1, 0)
  expect(await openBreaker(ledger.db, fingerprint, said, 60_000)).toBe(true)
}
const parked = async () => {
  const rows = await rowsInState(ledger.db, 'parked', { requires, limit: 100 })
  return rows.map(({ row_key, code }) => [row_key, code]).toSorted((a, b) => String(a[0]).localeCompare(String(b[0])))
}

async function ledgerWithSomeOfEach(): Promise<void> {
  await ledger.startRun()
  await ledger.landChecked('properties', [row('A', 'A'), row('B', 'B')], true)
  await ledger.landChecked('properties', [row('C', 'C')])
  await ledger.landChecked('framework_answers', [row('A', 'sent'), row('B', 'planned')])
  const run = await ledger.startRun()
  const ids = await ledger.plan(run, { maxRows: 1 })
  expect(ids).toHaveLength(2)
  await ledger.markSent(ids[0] ?? 0)
  await ledger.landChecked('framework_answers', [row('A', 'later'), row('C', 'waits')])
}

it('the ledger parks whatever could be sent otherwise, what is planned too, and nothing that is on its way', async () => {
  await ledgerWithSomeOfEach()
  expect(await parked()).toEqual([['waits', 'requires_pending']])
  await refuse('one')
  expect(await parked()).toEqual([
    ['C', 'requires_key'],
    ['later', 'requires_key'],
    ['planned', 'requires_key'],
    ['waits', 'requires_pending'],
  ])
  const counts = await statusCounts(ledger.db, requires)
  for (const { pending, ...s } of some(counts)) expect(s.parked + s.in_flight + s.invalid + s.rejected).toBe(pending)
  expect(counts.find(({ stream }) => stream === 'framework_answers')).toMatchObject({ parked: 3, in_flight: 1 })
  const [reason] = (
    await rowsInState(ledger.db, 'parked', { requires, filter: { reason: 'requires_key' }, limit: 1 })
  ).map((r) => r.reason)
  expect(reason).toMatch(
    /^the service does not accept the API key \(401 api_key_expired: It\\u0000expired\.\) since .* set EXCHANGE_API_KEY$/,
  )
})

it('the ledger releases all of it when the key is accepted again', async () => {
  await ledgerWithSomeOfEach()
  await refuse('one')
  expect(await closeBreaker(ledger.db, 'one')).toBeInstanceOf(Date)
  expect(await closeBreaker(ledger.db, 'one')).toBeNull()
  expect(await parked()).toEqual([['waits', 'requires_pending']])
})

it('the ledger goes by the key that was used last, no matter who looks', async () => {
  await refuse('old')
  expect(await deniedKeyInUse(ledger.db)).toMatchObject({ errorCode: 'api_key_expired' })
  await reserveCalls(ledger.db, 'new', 1, 0)
  expect(await deniedKeyInUse(ledger.db)).toBeNull()
  expect(await reserveCalls(ledger.db, 'old', 1, 0)).toBeNull()
  expect(await deniedKeyInUse(ledger.db)).toBeNull()
})
