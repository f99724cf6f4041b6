import { describe, expect, it } from 'vitest'
import { decodeRowError } from '../../../../src/exchange/task.ts'
import { namedError } from '../../../../src/pipeline/push/outcomes/judge-error.ts'
import { contract } from '../../../exchange/test-client.ts'
import { ids } from '../rows.ts'

const named = (fields: object) => namedError(contract, decodeRowError(contract, fields))

describe("the month of a task's error row", () => {
  it.each<[string, object, number | null]>([
    ['a name', { periodType: 'Monthly', year: 2025, month: 'March' }, 3],
    ['a name in other letters', { month: 'mARCH' }, 3],
    ['a number', { month: 12 }, 12],
    ['a number as a text', { month: '03' }, 3],
    ['January, where a yearly period names none', { periodType: 'Yearly', year: 2025 }, 1],
    [
      'January, where a yearly period in other letters names none',
      { periodType: 'YEARLY', year: '2025', month: null },
      1,
    ],
    ['what it names, for a yearly period too', { periodType: 'Yearly', year: 2025, month: 'April' }, 4],
    ['what its number says, with a zero before it or without', { periodType: 'Monthly', year: 2025, month: '05' }, 5],
    ['what its single digit says', { periodType: 'Monthly', year: 2025, month: '5' }, 5],
    ['any, where a monthly period names none', { periodType: 'Monthly', year: 2025 }, null],
    ['any, where a yearly period names no year either', { periodType: 'Yearly' }, null],
    ['any, where nothing is named', {}, null],
  ])("the month of a task's error row is %s", (_, fields, month) => {
    expect(named(fields)).toMatchObject({ month, why: null })
  })

  it.each(['Brumaire', '0', '13', '', 'Mar', '123', '212', '055'])(
    "the month of a task's error row that is %j is not taken for any month",
    (month) => {
      expect(named({ periodType: 'Yearly', year: 2025, month })).toMatchObject({
        month: null,
        why: `its month '${month}' is none`,
      })
    },
  )
})

describe("a task's error row", () => {
  it("a task's error row is told by every id that it carries", () => {
    const fields = {
      companyId: ids.company,
      identifiedByValue: 'H-1',
      dataPointId: ids.number,
      questionId: ids.question,
      propertyId: ids.property,
      standardId: ids.standard,
      fieldTypeId: ids.field,
      reason: 'a_code',
      message: 'Words.',
    }
    expect(named(fields)).toMatchObject({
      company_id: ids.company,
      partner_id: 'H-1',
      data_point_id: ids.number,
      question_id: ids.question,
      property_id: ids.property,
      standard_id: ids.standard,
      field_type_id: ids.field,
      code: 'a_code',
      reason: 'Words.',
    })
  })

  it('an error row with a kind of period that nobody knows keeps its word', () => {
    expect(named({ periodType: 'Weekly' }).period_type).toBe('Weekly')
  })
})
