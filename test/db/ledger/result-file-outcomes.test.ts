import type { Selectable } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type NamedError, outcomesFromErrors } from '../../../src/db/ledger/error-outcomes.ts'
import { outcomesFromResultFile } from '../../../src/db/ledger/file-outcomes.ts'
import { settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import { storeMappings } from '../../../src/db/ledger/store-mappings.ts'
import type { LedgerView } from '../../../src/db/tables/row-tables.ts'
import type { FieldError } from '../../../src/db/tables/submission-tables.ts'
import { blankError, company, mappingKind, otherCompany, rowsInFlight } from './rows-in-flight.ts'

const { ledger, map, outcomeOf, sent, unmatchedOf } = await rowsInFlight()
const isAccepted = ({ accepted_hash, desired_hash }: Selectable<LedgerView>) =>
  accepted_hash?.equals(desired_hash) ?? false

describe('a result file', () => {
  const properties = ['H-1', 'H-2', 'H-3', 'H-4'].map((partner_id) => ({ partner_id, content: { name: partner_id } }))
  type Staged = [
    partnerId: string | null,
    accepted: boolean | null,
    companyId?: string | null,
    code?: string | null,
    reason?: string | null,
    fieldErrors?: FieldError[],
  ]

  async function settle(id: number, staged: Staged[], mapping = true, errors: NamedError[] = []): Promise<void> {
    await ledger.inTransaction(async (trx) => {
      for (const [partner_id, accepted, company_id = null, code = null, reason = null, fieldErrors] of staged) {
        const field_errors = fieldErrors === undefined ? null : JSON.stringify(fieldErrors)
        const row = { submission_id: id, partner_id, accepted, company_id, code, reason, field_errors }
        await trx.insertInto('staged_outcome').values(row).execute()
      }
      await settleRows(trx, id, true, async () => {
        const { rest } = await outcomesFromResultFile(trx, id, { mapping })
        await outcomesFromErrors(trx, id, errors, rest)
        await storeMappings(trx, id)
        return rest
      })
    })
  }
  const mappings = () =>
    ledger.db.selectFrom('mapping').select(['partner_id', 'company_id']).orderBy('partner_id').execute()

  it('confirms, rejects and leaves unknown, row by row', async () => {
    const id = await sent('properties', properties, mappingKind)
    await settle(id, [
      ['H-1', true, company],
      ['H-2', false, null, 'NotFound', 'No company there.'],
      ['H-3', null, null, 'Ambiguous', 'Two of them.'],
    ])
    expect(await outcomeOf('properties', 'H-1')).toEqual(['confirmed', null, null])
    expect(await outcomeOf('properties', 'H-2')).toEqual(['rejected', 'NotFound', 'No company there.'])
    expect(await outcomeOf('properties', 'H-3')).toEqual(['unknown', 'Ambiguous', 'Two of them.'])
    expect(await outcomeOf('properties', 'H-4')).toEqual(['unknown', 'not_in_result', expect.any(String)])
    const rows = await Promise.all(properties.map(({ partner_id }) => ledger.row('properties', partner_id)))
    expect(rows.map(isAccepted)).toEqual([true, false, false, false])
    expect(rows.map(({ held_by }) => held_by)).toEqual([null, null, null, null])
    expect(rows.map(({ refused_hash }) => refused_hash !== null)).toEqual([false, true, false, false])
    expect(await mappings()).toEqual([{ partner_id: 'H-1', company_id: company }])
  })

  it('a result file that contradicts itself never confirms', async () => {
    const id = await sent('properties', properties, mappingKind)
    await settle(id, [
      ['H-1', true, company],
      ['H-1', false, null, 'NotFound'],
      ['H-2', true, company],
      ['H-2', null, null, 'Ambiguous'],
      ['H-3', true, company],
      ['H-3', true, company.toUpperCase()],
      ['H-4', true, company],
      ['H-4', true, otherCompany],
    ])
    const contradicts = 'the result file names this property more than once and contradicts itself'
    expect(await outcomeOf('properties', 'H-1')).toEqual(['rejected', 'NotFound', contradicts])
    expect(await outcomeOf('properties', 'H-2')).toEqual(['unknown', 'Ambiguous', contradicts])
    expect(await outcomeOf('properties', 'H-3')).toEqual(['confirmed', null, null])
    expect(await outcomeOf('properties', 'H-4')).toEqual([
      'unknown',
      'result_contradicts',
      'the result file maps this property to 2 companies',
    ])
    expect(await mappings()).toEqual([{ partner_id: 'H-3', company_id: company }])
  })

  it('a result file that contradicts itself proves no rejection: what was accepted before is forgotten', async () => {
    await ledger.landChecked('properties', properties, true)
    const renamed = properties.map((row) => ({ ...row, content: { name: `new ${row.partner_id}` } }))
    await settle(await sent('properties', renamed, mappingKind), [
      ['H-1', false],
      ['H-2', true, company],
      ['H-2', false],
      ['H-3', null],
      ['H-3', false],
      ['H-4', true, otherCompany],
    ])
    const rows = await Promise.all(properties.map(({ partner_id }) => ledger.row('properties', partner_id)))
    expect(rows.map(({ outcome }) => outcome)).toEqual(['rejected', 'rejected', 'rejected', 'confirmed'])
    expect(rows.map(({ accepted_hash }) => accepted_hash !== null)).toEqual([true, false, false, true])
    expect(rows.map(({ refused_hash }) => refused_hash !== null)).toEqual([true, true, true, false])
  })

  it('says nothing about properties that its request did not carry', async () => {
    await ledger.landChecked('properties', [{ partner_id: 'H-9', content: { name: 'x' } }])
    await ledger.db.updateTable('acceptance').set({ invalid_reason: 'kept back' }).execute()
    const id = await sent('properties', properties.slice(0, 1), mappingKind)
    await settle(id, [
      ['H-1', true, company],
      ['H-9', true, otherCompany],
    ])
    expect((await ledger.row('properties', 'H-9')).outcome).toBeNull()
    const why = 'it names no property of the request'
    expect(await unmatchedOf(id)).toEqual([{ partner_id: 'H-9', company_id: otherCompany, why }])
    expect(await mappings()).toEqual([{ partner_id: 'H-1', company_id: company }])
  })

  it('moves a mapping to the company that the service names last', async () => {
    await settle(await sent('properties', properties.slice(0, 1), mappingKind), [['H-1', true, company]])
    const again = [{ partner_id: 'H-1', content: { name: 'moved' } }]
    await settle(await sent('properties', again, mappingKind), [['H-1', true, otherCompany]])
    expect(await mappings()).toEqual([{ partner_id: 'H-1', company_id: otherCompany }])
  })

  it('gives every row of a property the outcome of its company', async () => {
    const calculators = ['2024', '2025'].map((year) => ({ partner_id: 'H-1', row_key: year, content: { year } }))
    const kind = { kind: 'calculators', streams: ['calculator_inputs'], partitionBy: null }
    const id = await sent('calculator_inputs', calculators, kind)
    await settle(id, [['H-1', false, null, 'Failed', 'x: Negative']], false)
    expect(await outcomeOf('calculator_inputs', '2024')).toEqual(['rejected', 'Failed', 'x: Negative'])
    expect(await outcomeOf('calculator_inputs', '2025')).toEqual(['rejected', 'Failed', 'x: Negative'])
  })

  describe('of calculators', () => {
    const kind = { kind: 'calculators', streams: ['calculator_inputs'], partitionBy: null }
    const inputs = (partner_id: string, row_key: string, ...fields: string[]) => ({
      partner_id,
      row_key,
      content: { year: '2025', inputs: Object.fromEntries(fields.map((field) => [field, '1'])) },
    })

    it('keeps with each row the errors of its own fields, and says of the others why they were rejected', async () => {
      const rows = [inputs('H-1', 'one', 'AA', 'bb'), inputs('H-1', 'two', 'cc'), inputs('H-1', 'none', 'dd')]
      const errors = [
        { field: 'aa', reason: 'Negative' },
        { field: 'cc', reason: 'Blank' },
      ]
      const id = await sent('calculator_inputs', rows, kind)
      await settle(id, [['H-1', false, company, 'Failed', 'aa: Negative; cc: Blank', errors]], false)
      expect(await outcomeOf('calculator_inputs', 'one')).toEqual(['rejected', 'Failed', 'aa: Negative'])
      expect(await outcomeOf('calculator_inputs', 'two')).toEqual(['rejected', 'Failed', 'cc: Blank'])
      expect((await outcomeOf('calculator_inputs', 'none'))[2]).toBe(
        'rejected with its property: aa: Negative; cc: Blank',
      )
    })

    it('sends rows that were rejected with their property again once one of them changed, and not before', async () => {
      const rows = [inputs('H-1', 'one', 'aa'), inputs('H-1', 'two', 'aa'), inputs('H-2', 'other', 'aa')]
      const together = { ...kind, judgesProperties: true }
      const id = await sent('calculator_inputs', rows, together)
      const failed = (partner: string): Staged => [partner, false, company, 'Failed', 'aa: Negative']
      await settle(id, [failed('H-1'), failed('H-2')], false)
      expect(await ledger.plan(await ledger.startRun(), together)).toEqual([])
      await ledger.landChecked('calculator_inputs', [inputs('H-1', 'one', 'bb')])
      const [again = 0] = await ledger.plan(await ledger.startRun(), together)
      expect(await ledger.keysOf(again)).toEqual(['one', 'two'])
      await ledger.markSent(again)
      await settle(again, [failed('H-1')], false)
      expect(await ledger.plan(await ledger.startRun(), together)).toEqual([])
    })

    it('sends rows that were rejected with their property again once one of them is gone', async () => {
      const together = { ...kind, judgesProperties: true }
      const id = await sent('calculator_inputs', [inputs('H-1', 'one', 'aa'), inputs('H-1', 'two', 'aa')], together)
      await settle(id, [['H-1', false, company, 'Failed', 'aa: Negative']], false)
      await ledger.db.updateTable('source_row').set({ gone_at: new Date() }).where('row_key', '=', 'one').execute()
      const [again = 0] = await ledger.plan(await ledger.startRun(), together)
      expect(await ledger.keysOf(again)).toEqual(['two'])
      // Of which nobody knows what became: it is kept out no longer.
      await ledger.markSent(again)
      await settle(again, [], false)
      const [third = 0] = await ledger.plan(await ledger.startRun(), together)
      expect(await ledger.keysOf(third)).toEqual(['two'])
    })

    it.each<[string, string | null, string]>([
      ['none', null, 'confirmed'],
      ['one that nobody here knows', 'h-one', 'confirmed'],
      ['another of ours, which was not sent', 'H-7', 'unknown'],
    ])('finds a property by its company where the element names %s', async (_, named, expected) => {
      await map('H-1', company)
      await ledger.land('properties', [{ partner_id: 'H-7', content: { name: 'seven' } }])
      const id = await sent('calculator_inputs', [inputs('H-1', 'one', 'aa')], kind)
      await settle(id, [[named, true, company.toUpperCase()]], false)
      expect((await outcomeOf('calculator_inputs', 'one'))[0]).toBe(expected)
      expect((await unmatchedOf(id))?.length ?? 0).toBe(expected === 'confirmed' ? 0 : 1)
    })

    it.each<[string, Staged[], string, string | null]>([
      ['takes its rows', [['H-1', true, otherCompany.toUpperCase()]], 'unknown', 'result_other_company'],
      [
        'rejects its rows',
        [['H-1', false, otherCompany, 'Failed', 'No.', [{ field: 'aa', reason: 'No' }]]],
        'unknown',
        'result_other_company',
      ],
      [
        'contradicts itself',
        [
          ['H-1', true, company],
          ['H-1', true, otherCompany],
        ],
        'unknown',
        'result_other_company',
      ],
      ['spells the same one otherwise', [['H-1', true, company.toUpperCase()]], 'confirmed', null],
      ['names none', [['H-1', true]], 'confirmed', null],
    ])(
      'a property that is named with another company than its mapping is unknown, where the file %s',
      async (_, staged, outcome, code) => {
        const id = await sent('calculator_inputs', [inputs('H-1', 'one', 'aa')], kind)
        await map('H-1', company)
        await settle(id, staged, false)
        const row = await ledger.row('calculator_inputs', 'one')
        expect(row).toMatchObject({ outcome, outcome_code: code, refused_hash: null })
        expect(isAccepted(row)).toBe(outcome === 'confirmed')
        if (outcome === 'confirmed') return
        expect(row.outcome_reason).toContain(`company ${otherCompany}, and its mapping is company ${company}`)
      },
    )

    it('accepts nothing by a company that several properties of the request stand for, and rejects all of them', async () => {
      const rows = [inputs('H-1', 'one', 'aa'), inputs('H-2', 'two', 'aa')]
      const id = await sent('calculator_inputs', rows, kind)
      // Known only by now: else they would not travel together.
      await map('H-1', company)
      await map('H-2', company)
      await settle(id, [[null, true, company]], false)
      for (const key of ['one', 'two']) {
        expect(await outcomeOf('calculator_inputs', key)).toEqual(['unknown', null, expect.stringContaining('several')])
      }
      await ledger.db.deleteFrom('mapping').execute()
      const again = await ledger.startRun()
      const [second = 0] = await ledger.plan(again, kind)
      await ledger.markSent(second)
      await map('H-1', company)
      await map('H-2', company)
      await settle(second, [[null, false, company, 'Failed', 'No.']], false)
      for (const key of ['one', 'two']) {
        expect(await outcomeOf('calculator_inputs', key)).toEqual(['rejected', 'Failed', 'No.'])
      }
    })

    it('a result file that rejects a company for which several properties stand proves it of none of them', async () => {
      const before = [inputs('H-1', 'one', 'aa'), inputs('H-2', 'two', 'aa'), inputs('H-3', 'three', 'aa')]
      await ledger.landChecked('calculator_inputs', before, true)
      const changed = before.map(({ partner_id, row_key }) => inputs(partner_id, row_key, 'bb'))
      const id = await sent('calculator_inputs', changed, kind)
      await map('H-1', company)
      await map('H-2', company)
      await map('H-3', otherCompany)
      await settle(
        id,
        [
          [null, false, company],
          [null, false, otherCompany],
        ],
        false,
      )
      const rows = await Promise.all(before.map(({ row_key }) => ledger.row('calculator_inputs', row_key)))
      expect(rows.map(({ outcome }) => outcome)).toEqual(['rejected', 'rejected', 'rejected'])
      expect(rows.map(({ accepted_hash }) => accepted_hash !== null)).toEqual([false, false, true])
    })

    it.each<[string, boolean, Staged[]]>([
      ['takes', true, [['H-1', true, company]]],
      ['takes with a word', true, [['H-1', true, company, 'Odd', 'Taken with a warning.']]],
      [
        'takes and rejects',
        true,
        [
          ['H-1', true, company],
          ['H-1', false, company],
        ],
      ],
      ['rejects', false, [['H-1', false, company]]],
      ['does not name', false, []],
    ])(
      'a row that an error rejects and the result file %s is pending once it says again what was accepted: %s',
      async (_, pending, staged) => {
        await ledger.landChecked('calculator_inputs', [inputs('H-1', 'one', 'aa')], true)
        const id = await sent('calculator_inputs', [inputs('H-1', 'one', 'bb')], kind)
        await settle(id, staged, false, [{ ...blankError, partner_id: 'H-1' }])
        expect((await outcomeOf('calculator_inputs', 'one'))[0]).toBe('rejected')
        await ledger.landChecked('calculator_inputs', [inputs('H-1', 'one', 'aa')])
        expect((await ledger.row('calculator_inputs', 'one')).pending).toBe(pending)
      },
    )

    it('keeps what names nobody, as it came', async () => {
      const id = await sent('calculator_inputs', [inputs('H-1', 'one', 'aa')], kind)
      await settle(
        id,
        [
          [null, null, null, null, '{"odd":1}'],
          ['H-1', true],
        ],
        false,
      )
      expect(await unmatchedOf(id)).toEqual([{ reason: '{"odd":1}', why: 'it names no property' }])
      expect((await outcomeOf('calculator_inputs', 'one'))[0]).toBe('confirmed')
    })
  })
})
