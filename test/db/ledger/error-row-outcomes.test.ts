import { type Selectable, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type NamedError, outcomesFromErrors, type Questions } from '../../../src/db/ledger/error-outcomes.ts'
import { type RowOutcome, settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import type { LedgerView } from '../../../src/db/tables/row-tables.ts'
import { some } from '../../helpers/some.ts'
import {
  answersKind,
  blankError as blank,
  company,
  dataPoint,
  mappingKind,
  otherCompany,
  otherPoint,
  rowsInFlight,
} from './rows-in-flight.ts'

const { ledger, map, outcomeOf, runOf, sent, unmatchedOf } = await rowsInFlight()
const isAccepted = ({ accepted_hash, desired_hash }: Selectable<LedgerView>) =>
  accepted_hash?.equals(desired_hash) ?? false

describe('error rows', () => {
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

  it('error rows that do not tell several rows apart prove no rejection: what was accepted before is forgotten', async () => {
    await ledger.landChecked('framework_answers', rows, true)
    await ledger.db
      .updateTable('acceptance')
      .set({ accepted_hash: Buffer.from('older') })
      .execute()
    const { rejected, stored } = await rejectedBy([
      { partner_id: 'H-1', data_point_id: dataPoint, year: 2025 },
      { partner_id: 'H-1', data_point_id: dataPoint, month: 3, code: 'A' },
      { partner_id: 'H-2' },
    ])
    expect(rejected).toEqual(['january', 'march', 'other hotel'])
    const forgotten = stored.filter(({ accepted_hash, stream }) => accepted_hash === null && stream !== 'omissions')
    expect(forgotten.map(({ row_key }) => row_key)).toEqual(['january'])
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
    const [other = 0] = await ledger.plan(runOf())
    await rejectedBy([{ partner_id: 'H-3' }])
    expect(await ledger.row('framework_answers', 'elsewhere')).toMatchObject({ held_by: other, outcome: null })
  })
})
