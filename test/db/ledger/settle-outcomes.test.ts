import { type Selectable, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type NamedError, outcomesFromErrors, type Questions } from '../../../src/db/ledger/error-outcomes.ts'
import { outcomesFromResultFile } from '../../../src/db/ledger/file-outcomes.ts'
import { type RowOutcome, settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import { storeMappings } from '../../../src/db/ledger/store-mappings.ts'
import type { LedgerView } from '../../../src/db/tables/row-tables.ts'
import type { FieldError } from '../../../src/db/tables/submission.ts'
import { some } from '../../helpers/some.ts'
import { type Landing, type Ledger, openLedger } from './ledger.ts'

const company = '0b6c2f4e-0000-4000-8000-00000000000a'
const otherCompany = '0b6c2f4e-0000-4000-8000-00000000000b'
const dataPoint = 'AA6c2f4e-0000-4000-8000-000000000001'
const otherPoint = 'bb6c2f4e-0000-4000-8000-000000000002'

let ledger: Ledger
let run: number
beforeAll(async () => {
  ledger = await openLedger()
})
beforeEach(async () => {
  await ledger.clear()
  run = await ledger.startRun()
})
afterAll(() => ledger.close())

const answersKind = { streams: ['framework_answers', 'omissions'], partitionBy: 'framework_id' }
const mappingKind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }

/** Rows on their way: planned in one submission, and sent. */
async function sent(stream: string, rows: Landing[], kind: object = answersKind): Promise<number> {
  await ledger.landChecked(stream, rows)
  const [id, ...more] = await ledger.plan(run, kind)
  if (id === undefined || more.length > 0) throw new Error(`one submission was expected, there are ${more.length + 1}`)
  await ledger.markSent(id)
  return id
}

const outcomeOf = async (stream: string, key: string) => {
  const { outcome, outcome_code, outcome_reason } = await ledger.row(stream, key)
  return [outcome, outcome_code, outcome_reason]
}
const unmatchedOf = async (id: number) => {
  const { unmatched } = await ledger.db
    .selectFrom('submission')
    .select('unmatched')
    .where('submission_id', '=', id)
    .executeTakeFirstOrThrow()
  return unmatched
}
const map = async (partnerId: string, companyId: string) => {
  const { submission_id } = await ledger.db
    .insertInto('submission')
    .values({ run_id: run, kind: 'company_mappings', state: 'settled', row_count: 1 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  await ledger.db
    .insertInto('mapping')
    .values({ partner_id: partnerId, company_id: companyId, submission_id })
    .execute()
}
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

  async function settle(id: number, staged: Staged[], mapping = true): Promise<void> {
    await ledger.inTransaction(async (trx) => {
      for (const [partner_id, accepted, company_id = null, code = null, reason = null, errors] of staged) {
        const field_errors = errors === undefined ? null : JSON.stringify(errors)
        const row = { submission_id: id, partner_id, accepted, company_id, code, reason, field_errors }
        await trx.insertInto('staged_outcome').values(row).execute()
      }
      await settleRows(trx, id, true, async () => {
        const { rest } = await outcomesFromResultFile(trx, id, { mapping })
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

describe('error rows', () => {
  const blank: NamedError = {
    company_id: null,
    partner_id: null,
    data_point_id: null,
    question_id: null,
    property_id: null,
    standard_id: null,
    field_type_id: null,
    period_type: null,
    year: null,
    month: null,
    code: 'OutOfRange',
    reason: 'Too much.',
    why: null,
  }
  const inferred: RowOutcome = { outcome: 'inferred' }
  /** Every error matches a row. */
  const settleNamed = (id: number, errors: NamedError[]) =>
    ledger.inTransaction((trx) =>
      settleRows(trx, id, true, async () => {
        const { unmatched, rest } = await outcomesFromErrors(trx, id, errors, inferred)
        expect(unmatched).toBe(0)
        return rest
      }),
    )
  const answer = (row_key: string, content: object, partner_id = 'H-1') => ({
    partner_id,
    row_key,
    content: { period_type: 'Yearly', year: '2025', month: '1', data_point_id: dataPoint, ...content },
  })
  const rows = [
    answer('january', {}),
    answer('march', { month: '3', period_type: 'Monthly' }),
    answer('last year', { year: '2024' }),
    answer('other point', { data_point_id: otherPoint }),
    answer('other hotel', {}, 'H-2'),
  ]
  const omission = {
    partner_id: 'H-1',
    row_key: 'omission',
    content: { period_type: 'Yearly', year: '2025', month: '1', question_id: dataPoint },
  }
  const keys = [...rows, omission].map(({ row_key }) => row_key)

  async function rejectedBy(
    errors: Partial<NamedError>[],
    unnamed = inferred,
    questions: Questions = [],
    meanwhile = async () => {},
  ) {
    await ledger.landChecked('omissions', [omission])
    const id = await sent('framework_answers', rows)
    await meanwhile()
    const named = errors.map((error) => ({ ...blank, ...error }))
    let left = 0
    await ledger.inTransaction((trx) =>
      settleRows(trx, id, true, async () => {
        const { unmatched, rest } = await outcomesFromErrors(trx, id, named, unnamed, questions)
        left = unmatched
        return rest
      }),
    )
    const unmatched = (await unmatchedOf(id)) ?? []
    expect(unmatched).toHaveLength(left)
    const stored = await ledger.db.selectFrom('ledger').selectAll().orderBy('row_id').execute()
    const rejected = stored.filter(({ outcome }) => outcome === 'rejected').map(({ row_key }) => row_key)
    return { unmatched, rejected: keys.filter((key) => rejected.includes(key)), stored }
  }

  it.each<[string, Partial<NamedError>, string[]]>([
    ['a property', { partner_id: 'H-2' }, ['other hotel']],
    ['a property, all of its rows', { partner_id: 'H-1' }, keys.filter((key) => key !== 'other hotel')],
    ['a data point', { partner_id: 'H-1', data_point_id: otherPoint }, ['other point']],
    ['a data point in other letters', { partner_id: 'H-1', data_point_id: otherPoint.toUpperCase() }, ['other point']],
    ['a question', { partner_id: 'H-1', question_id: dataPoint.toLowerCase() }, ['omission']],
    ['a kind of period', { partner_id: 'H-1', period_type: 'monthly' }, ['march']],
    [
      "a property that nobody here knows, and the property's company",
      { partner_id: 'h2', company_id: company },
      ['other hotel'],
    ],
    [
      'a question, answers of which are known by their data points',
      { partner_id: 'H-1', question_id: dataPoint, period_type: 'Yearly', year: 2024, month: 1 },
      ['last year'],
    ],
    [
      'a data point and its question',
      { partner_id: 'H-1', data_point_id: otherPoint, question_id: otherPoint },
      ['other point'],
    ],
    ['a year', { partner_id: 'H-1', year: 2024 }, ['last year']],
    ['a month', { partner_id: 'H-1', month: 3 }, ['march']],
    [
      'one row by everything',
      { partner_id: 'H-1', data_point_id: dataPoint, period_type: 'Yearly', year: 2025, month: 1 },
      ['january'],
    ],
  ])('reject what names %s', async (_, error, expected) => {
    await map('H-2', company)
    // Of the other point nobody knows the question.
    const questions = _.includes('known by') ? [{ data_point_id: dataPoint, question_id: dataPoint }] : []
    const { rejected, unmatched, stored } = await rejectedBy([error], inferred, questions)
    expect(rejected).toEqual(expected)
    expect(unmatched).toEqual([])
    for (const row of some(stored)) {
      if (expected.includes(row.row_key)) {
        expect(row).toMatchObject({ outcome_code: 'OutOfRange', outcome_reason: 'Too much.' })
        expect(row.refused_hash).toEqual(row.desired_hash)
        expect(isAccepted(row)).toBe(false)
      } else {
        expect(row).toMatchObject({ outcome: 'inferred', outcome_code: null, outcome_reason: null, refused_hash: null })
        expect(isAccepted(row)).toBe(true)
      }
    }
  })

  it('find a property by its company, as its mapping says', async () => {
    const mapping = await sent('properties', [{ partner_id: 'H-2', content: { name: 'x' } }], mappingKind)
    await ledger.db
      .insertInto('mapping')
      .values({ partner_id: 'H-2', company_id: company, submission_id: mapping })
      .execute()
    expect((await rejectedBy([{ company_id: company.toUpperCase() }])).rejected).toEqual(['other hotel'])
  })

  it("take the partner's id over the company", async () => {
    const mapping = await sent('properties', [{ partner_id: 'H-1', content: { name: 'x' } }], mappingKind)
    await ledger.db
      .insertInto('mapping')
      .values({ partner_id: 'H-1', company_id: company, submission_id: mapping })
      .execute()
    const { rejected, unmatched } = await rejectedBy([{ company_id: company, partner_id: 'H-2' }])
    expect(rejected).toEqual(['other hotel'])
    expect(unmatched).toEqual([])
  })

  it('error rows that match nothing are handed back as they came', async () => {
    const nothing = 'it matches no row of the request'
    const strange: [Partial<NamedError>, string][] = [
      [{ partner_id: 'H-9' }, nothing],
      [{ company_id: otherCompany }, nothing],
      [{}, 'it names no company'],
      [{ partner_id: 'H-1', data_point_id: 'no id at all' }, nothing],
      [{ partner_id: 'H-1', year: 999_999_999_999_999 }, nothing],
      [{ partner_id: 'H-1', question_id: otherPoint, data_point_id: dataPoint }, nothing],
      [{ partner_id: 'H-1', property_id: otherPoint, why: 'so it is' }, 'so it is'],
      [
        { partner_id: 'H-2', company_id: otherCompany },
        `it names H-2 and company ${otherCompany}, but H-2 is company ${company}`,
      ],
    ]
    await map('H-2', company)
    const questions = [{ data_point_id: dataPoint, question_id: company }]
    const { rejected, unmatched } = await rejectedBy(
      [{ partner_id: 'H-2' }, ...strange.map(([error]) => error)],
      inferred,
      questions,
    )
    expect(rejected).toEqual(['other hotel'])
    const words = { code: blank.code, reason: blank.reason }
    expect(unmatched).toEqual(strange.map(([error, why]) => ({ ...words, ...error, why })))
  })

  it('name every property that a company stands for', async () => {
    const { rejected } = await rejectedBy([{ company_id: company, year: 2025, month: 1 }], inferred, [], async () => {
      // Known only by now: else they would not travel together.
      await map('H-1', company)
      await map('H-2', company)
    })
    expect(rejected).toEqual(['january', 'other point', 'other hotel', 'omission'])
  })

  it.each<[string, string, object, Partial<NamedError>]>([
    ['custom_property_values', 'property_id', { value: 'x' }, { property_id: otherPoint.toUpperCase() }],
    ['standard_holders', 'standard_id', {}, { standard_id: otherPoint.toUpperCase() }],
  ])('error rows of %s are told apart by their %s', async (stream, column, more, error) => {
    const of = (id: string) => ({ partner_id: 'H-1', row_key: id, content: { [column]: id, ...more } })
    const id = await sent(stream, [of(dataPoint), of(otherPoint)], {
      kind: stream,
      streams: [stream],
      partitionBy: null,
    })
    await settleNamed(id, [{ ...blank, partner_id: 'H-1', ...error }])
    expect((await outcomeOf(stream, otherPoint))[0]).toBe('rejected')
    expect((await outcomeOf(stream, dataPoint))[0]).toBe('inferred')
  })

  it('error rows of calculators are told apart by field type and period, a year as a whole among them', async () => {
    const of = (row_key: string, period: object, field: string) => ({
      partner_id: 'H-1',
      row_key,
      content: { ...period, inputs: { [field]: '1' } },
    })
    const rows = [
      of('year', { year: '2025' }, 'F1'),
      of('month', { year: '2025', month: '1' }, 'F1'),
      of('other', { year: '2025', month: '2' }, 'f2'),
    ]
    const kind = { kind: 'calculators', streams: ['calculator_inputs'], partitionBy: null }
    const id = await sent('calculator_inputs', rows, kind)
    const named = [
      { period_type: 'Yearly', year: 2025, month: 1 },
      { field_type_id: 'F2', year: 2025 },
    ]
    await settleNamed(
      id,
      named.map((error) => ({ ...blank, partner_id: 'H-1', ...error })),
    )
    const outcomes = await Promise.all(rows.map(({ row_key }) => outcomeOf('calculator_inputs', row_key)))
    expect(outcomes.map(([name]) => name)).toEqual(['rejected', 'inferred', 'rejected'])
  })

  it('error rows beside a result file reject, and leave the others as the file has them', async () => {
    const { stored } = await (async () => {
      const id = await sent('framework_answers', rows)
      const errors = ['H-2', 'H-9'].map((partner_id) => ({ ...blank, partner_id }))
      await ledger.inTransaction((trx) =>
        settleRows(trx, id, true, async () => {
          await sql`
            insert into verdict (row_id, outcome, code, reason)
            select row_id, 'unknown', 'told', 'By the file.' from carried_row`.execute(trx)
          return (await outcomesFromErrors(trx, id, errors, inferred)).rest
        }),
      )
      return { stored: await ledger.db.selectFrom('ledger').selectAll().execute() }
    })()
    for (const { row_key, outcome_code } of some(stored)) {
      expect(outcome_code).toBe(row_key === 'other hotel' ? 'OutOfRange' : 'told')
    }
  })

  it('20,000 error rows for 20,000 rows are matched without comparing each with each', async () => {
    const many = Array.from({ length: 20_000 }, (_, at) =>
      answer(`row ${at}`, { data_point_id: `p${at % 50}`, year: `${2000 + (at % 7)}` }, `H-${at % 1000}`),
    )
    const id = await sent('framework_answers', many, { ...answersKind, maxRows: 100_000 })
    const errors = many.map(({ partner_id, content }) => ({
      ...blank,
      partner_id,
      data_point_id: content.data_point_id,
      year: Number(content.year),
      reason: 'x'.repeat(200),
    }))
    const started = performance.now()
    await settleNamed(id, errors)
    const seconds = (performance.now() - started) / 1000
    expect(seconds).toBeLessThan(60)
    const { rows: counted } = await sql<{ count: number }>`
      select count(*) from acceptance where outcome = 'rejected'`.execute(ledger.db)
    expect(counted[0]?.count).toBe(20_000)
  })

  it('several error rows on one row are told together', async () => {
    const { stored } = await rejectedBy([
      { partner_id: 'H-2', code: 'B', reason: 'Second.' },
      { partner_id: 'H-2', code: 'A', reason: 'First.' },
    ])
    expect(stored.find(({ row_key }) => row_key === 'other hotel')).toMatchObject({
      outcome_code: 'A',
      outcome_reason: 'First.; Second.',
    })
  })

  it('leave the others unknown when the task does not vouch for them', async () => {
    const unnamed: RowOutcome = { outcome: 'unknown', code: 'task_error', reason: 'It broke.' }
    const { rejected, stored } = await rejectedBy([{ partner_id: 'H-2' }], unnamed)
    expect(rejected).toEqual(['other hotel'])
    for (const row of some(stored.filter(({ row_key }) => row_key !== 'other hotel'))) {
      expect(row).toMatchObject({ outcome: 'unknown', outcome_code: 'task_error', outcome_reason: 'It broke.' })
      expect(row.accepted_hash).toBeNull()
      expect(row.refused_hash).toBeNull()
    }
  })

  it('touch no row of another submission', async () => {
    await ledger.landChecked('framework_answers', [answer('elsewhere', { framework_id: 'f2' }, 'H-3')])
    const [other = 0] = await ledger.plan(run)
    await rejectedBy([{ partner_id: 'H-3' }])
    expect(await ledger.row('framework_answers', 'elsewhere')).toMatchObject({ held_by: other, outcome: null })
  })
})

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
    expect(await ledger.plan(run, mappingKind)).toHaveLength(1)
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
    expect(await ledger.plan(run, mappingKind)).toEqual([])
    expect(await ledger.plan(await ledger.startRun(), mappingKind)).toHaveLength(1)
  })

  it('forgets an old refusal when the row is accepted', async () => {
    await ledger.settleAll(await sent('properties', [row], mappingKind), 'rejected')
    await ledger.settleAll(await sent('properties', [changed], mappingKind), 'confirmed')
    expect((await ledger.row('properties', 'H-1')).refused_hash).toBeNull()
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
