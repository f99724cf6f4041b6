import { describe, expect, it } from 'vitest'
import type { StreamName } from '../../../src/config/schema.ts'
import { checkRow, type RowContent } from '../../../src/pipeline/push/check-row.ts'
import { contract } from '../../exchange/test-client.ts'
import { dataPoint, ids, reference } from './rows.ts'

const check = (stream: StreamName, content: RowContent, partnerId = 'H-1') =>
  checkRow(contract, reference, stream, partnerId, content)

const answer = { period_type: 'Yearly', year: '2025', month: '1', data_point_id: ids.number, value: '1.5' }
const inputs = { year: '2025', month: '3', inputs: { [ids.field]: '1' } }

describe('preflight', () => {
  it.each<[StreamName, RowContent]>([
    ['properties', { name: 'Zur Brücke' }],
    ['properties', { latitude: '-90', longitude: '180.0' }],
    ['framework_answers', answer],
    ['framework_answers', { ...answer, unit_id: ids.unit }],
    ['framework_answers', { ...answer, value: 'anything', value_type: 'text' }],
    ['omissions', { period_type: 'Monthly', year: '2025', month: '12', question_id: ids.question }],
    ['calculator_inputs', inputs],
    ['calculator_inputs', { year: '2025', inputs: { [ids.field]: '' } }],
    ['calculator_settings', { automatic_publishing: 'false' }],
    ['custom_property_values', { property_id: ids.property, value: '' }],
    ['standard_holders', { standard_id: ids.standard }],
  ])('passes a row of %s: %j', (stream, content) => {
    expect(check(stream, content)).toBeNull()
  })

  it.each<[StreamName, RowContent, string]>([
    ['properties', {}, 'nothing is known but the partner id'],
    ['properties', { latitude: '1' }, 'must come together'],
    ['properties', { longitude: '1' }, 'must come together'],
    ['properties', { latitude: '90.1', longitude: '0' }, 'latitude 90.1'],
    ['properties', { latitude: '0', longitude: '-180.5' }, 'longitude -180.5'],
    ['properties', { latitude: 'NaN', longitude: '0' }, 'latitude NaN'],
    ['framework_answers', { ...answer, period_type: 'Weekly' }, "period_type 'Weekly'"],
    ['framework_answers', { ...answer, period_type: undefined }, "period_type ''"],
    ['framework_answers', { ...answer, year: '25' }, "year '25'"],
    ['framework_answers', { ...answer, year: undefined }, "year ''"],
    ['framework_answers', { ...answer, month: '13' }, "month '13'"],
    ['framework_answers', { ...answer, month: '0' }, "month '0'"],
    ['framework_answers', { ...answer, period_type: 'Monthly', month: undefined }, 'needs a month'],
    ['framework_answers', { ...answer, data_point_id: 'x' }, "data_point_id 'x' is no id"],
    ['framework_answers', { ...answer, data_point_id: ids.property }, 'is in no framework'],
    ['framework_answers', { ...answer, value_type: 'numeric' }, "value_type 'numeric' is none of"],
    ['framework_answers', { ...answer, data_point_id: ids.strange }, "framework's 'Hologram' is not known"],
    ['framework_answers', { ...answer, value: undefined }, 'value is empty'],
    ['framework_answers', { ...answer, value: 'many' }, "'many' is no number"],
    ['framework_answers', { ...answer, unit_id: ids.property }, 'does not belong to data point'],
    ['omissions', { period_type: 'Yearly', year: '2025', question_id: ids.number }, 'is in no framework'],
    ['omissions', { period_type: 'Yearly', year: '2025' }, "question_id '' is no id"],
    ['omissions', { period_type: 'Monthly', year: '2025', question_id: ids.question }, 'needs a month'],
    ['calculator_inputs', { ...inputs, year: 'x' }, "year 'x'"],
    ['calculator_inputs', { ...inputs, month: '99' }, "month '99'"],
    ['calculator_inputs', { ...inputs, inputs: {} }, 'every input is empty'],
    ['calculator_inputs', { ...inputs, inputs: { [ids.field]: '1', '': '2' } }, "field_type_id '' is no id"],
    ['calculator_settings', {}, 'neither switch is set'],
    ['calculator_settings', { automatic_yearly_calculation: 'yes' }, "automatic_yearly_calculation 'yes'"],
    ['calculator_settings', { automatic_publishing: '1' }, "automatic_publishing '1'"],
    ['custom_property_values', { value: 'x' }, "property_id '' is no id"],
    ['custom_property_values', { property_id: ids.property }, 'value is empty'],
    ['standard_holders', { standard_id: 'gold' }, "standard_id 'gold' is no id"],
  ])('refuses a row of %s: %j', (stream, content, reason) => {
    expect(check(stream, content)).toContain(reason)
  })

  it.each(['', '   '])('refuses the partner id %j, whatever the row holds', (partnerId) => {
    expect(check('standard_holders', { standard_id: ids.standard }, partnerId)).toBe('partner_id is empty')
  })

  it('says nothing about data points and questions while no framework is known', () => {
    const unknown = { frameworksKnown: false, dataPoints: new Map(), questionIds: new Set<string>() }
    const typed = { ...answer, value_type: 'number' }
    expect(checkRow(contract, unknown, 'framework_answers', 'H-1', typed)).toBeNull()
    expect(checkRow(contract, unknown, 'framework_answers', 'H-1', answer)).toContain('value_type is null')
    const omission = { period_type: 'Yearly', year: '2025', question_id: ids.question }
    expect(checkRow(contract, unknown, 'omissions', 'H-1', omission)).toBeNull()
  })

  it('takes the type that the row says over the one of the framework', () => {
    expect(check('framework_answers', { ...answer, value: 'many', value_type: 'text' })).toBeNull()
    expect(dataPoint(ids.number).valueType).toBe('Number')
  })
})
