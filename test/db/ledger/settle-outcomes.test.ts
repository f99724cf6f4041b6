import { type Selectable, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import type { LedgerView } from '../../../src/db/tables/row-tables.ts'
import { mappingKind, rowsInFlight } from './rows-in-flight.ts'

const { ledger, outcomeOf, runOf, sent } = await rowsInFlight()
const isAccepted = ({ accepted_hash, desired_hash }: Selectable<LedgerView>) =>
  accepted_hash?.equals(desired_hash) ?? false

describe('applying outcomes', () => {
  const row = { partner_id: 'H-1', content: { name: 'sent' } }
  const changed = { partner_id: 'H-1', content: { name: 'changed in flight' } }

  it('accepts what was sent, so that a row that changed in flight stays pending', async () => {
    const id = await sent('properties', [row], mappingKind)
    const before = await ledger.row('properties', 'H-1')
    await ledger.land('properties', [changed])
    await ledger.settleAll(id, 'confirmed')
    const after = await ledger.row('properties', 'H-1')
    expect(after.accepted_hash).toEqual(before.desired_hash)
    expect(isAccepted(after)).toBe(false)
  })

  it('does not keep a row out that changed while what was sent of it was rejected', async () => {
    const id = await sent('properties', [row], mappingKind)
    await ledger.landChecked('properties', [changed])
    await ledger.settleAll(id, 'rejected')
    expect(await ledger.plan(runOf(), mappingKind)).toHaveLength(1)
  })

  it('keeps what was accepted when new content is rejected', async () => {
    await ledger.settleAll(await sent('properties', [row], mappingKind), 'confirmed')
    const { accepted_hash } = await ledger.row('properties', 'H-1')
    await ledger.settleAll(await sent('properties', [changed], mappingKind), 'rejected')
    expect((await ledger.row('properties', 'H-1')).accepted_hash).toEqual(accepted_hash)
  })

  it('takes nothing for accepted once new content may or may not have been taken, even when the row changes back', async () => {
    await ledger.settleAll(await sent('properties', [row], mappingKind), 'confirmed')
    await ledger.settleAll(await sent('properties', [changed], mappingKind), 'unknown')
    await ledger.landChecked('properties', [row])
    expect(isAccepted(await ledger.row('properties', 'H-1'))).toBe(false)
    expect(await ledger.plan(await ledger.startRun(), mappingKind)).toHaveLength(1)
  })

  it('does not keep rows out when the request as a whole was refused', async () => {
    const id = await sent('properties', [row], mappingKind)
    await ledger.inTransaction((trx) =>
      settleRows(trx, id, false, async () => ({ outcome: 'rejected', code: 'group_forbidden', reason: 'Not yours.' })),
    )
    expect(await outcomeOf('properties', 'H-1')).toEqual(['rejected', 'group_forbidden', 'Not yours.'])
    expect((await ledger.row('properties', 'H-1')).refused_hash).toBeNull()
    expect(await ledger.plan(runOf(), mappingKind)).toEqual([])
    expect(await ledger.plan(await ledger.startRun(), mappingKind)).toHaveLength(1)
  })

  it('forgets an old refusal when the row is accepted', async () => {
    await ledger.settleAll(await sent('properties', [row], mappingKind), 'rejected')
    await ledger.settleAll(await sent('properties', [changed], mappingKind), 'confirmed')
    expect((await ledger.row('properties', 'H-1')).refused_hash).toBeNull()
  })

  it.each<[string, (id: number) => Promise<void>]>([
    ['ended and nobody knows how', (id) => ledger.settleAll(id, 'unknown')],
    [
      'was refused as a whole',
      (id) =>
        ledger.inTransaction((trx) =>
          settleRows(trx, id, false, async () => ({ outcome: 'rejected', code: 'group_forbidden', reason: 'No.' })),
        ),
    ],
  ])('rejected content is kept out no longer where the request with other content of its row %s', async (_, settle) => {
    await ledger.settleAll(await sent('properties', [row], mappingKind), 'rejected')
    expect((await ledger.row('properties', 'H-1')).refused_hash).not.toBeNull()
    await settle(await sent('properties', [changed], mappingKind))
    await ledger.landChecked('properties', [row])
    const stated = await rowsInState(ledger.db, 'rejected', { requires: {}, limit: 10 })
    expect(stated, 'the verdict on other content is none on this').toEqual([])
    expect(await ledger.plan(await ledger.startRun(), mappingKind)).toHaveLength(1)
  })

  it('leaves a row alone that is in flight with another submission by now', async () => {
    const id = await sent('properties', [row], mappingKind)
    await ledger.db.deleteFrom('held_property').execute()
    const next = await ledger.startRun()
    const [other = 0] = await ledger.plan(next, mappingKind)
    await ledger.settleAll(id, 'confirmed')
    expect(await ledger.row('properties', 'H-1')).toMatchObject({ held_by: other, outcome: null, accepted_hash: null })
    const { rows } = await sql`select from acceptance where accepted_at is not null`.execute(ledger.db)
    expect(rows).toEqual([])
  })
})
