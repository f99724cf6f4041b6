import { expect, test } from 'vitest'
import { earlierCursor } from '../../../src/pipeline/delta/where-to-read.ts'

const now = new Date('2026-11-22T02:00:00Z')
const standing = (watermark: string, cursor_type: string | null = null) => ({ watermark, cursor_type })

test.each([
  ['2026-11-21 12:00:00+00', '3d', '2026-11-19 02:00:00.000'],
  ['2026-11-21 12:00:00+00', '2026-11-20', '2026-11-20 00:00:00.000'],
  ['2026-11-21 12:00:00+00', '2026-11-21T12:00:00+02:00', '2026-11-21 10:00:00.000'],
  ['2026-11-21 12:00:00+00', '2026-11-21 11:59:59.5+00', '2026-11-21 11:59:59.500'],
  ['2026-11-21 12:00:00.0000000', '2026-11-21T11:00', '2026-11-21 11:00:00.000'],
  ['2026-11-21', '36h', '2026-11-20 02:00:00.000'],
  ['2026-11-21T12:00:00Z', '36h', '2026-11-20 14:00:00.000'],
  ['2026-11-21 12:00:00.0000000 +00:00', '36h', '2026-11-20 14:00:00.000'],
  ['2026-11-21 21:00:00', '6h', '2026-11-21 08:00:00.000'],
  ['2026-11-21 21:00:00', '2026-11-21T20:00:00Z', '2026-11-21 08:00:00.000'],
  ['2026-11-21 21:00:00', '2026-11-21T20:00:00-05:00', '2026-11-21 13:00:00.000'],
  ['2026-11-21 21:00:00', '2026-11-21T20:00:00', '2026-11-21 20:00:00.000'],
  ['2026-11-21 21:00:00', '2026-11-20', '2026-11-20 00:00:00.000'],
  ['9007199254740994', '9007199254740993', '9007199254740993'],
  ['10.0', '9.5', '9.5'],
  ['10', '9.5', '9'],
  ['10', '9.0', '9'],
  ['-5', '-5.5', '-6'],
  ['-5', '-6.00', '-6'],
  ['0', '-0.5', '-1'],
  ['-5', '-6', '-6'],
])('a reading at the watermark %s with --since %s goes back to %s', (watermark, since, cursor) => {
  expect(earlierCursor(standing(watermark), since, now)).toEqual({ kind: 'earlier', cursor })
})

test.each([
  [null, '3d', 'no watermark'],
  [null, '41', 'no watermark'],
  [null, 'yesterday', 'no value'],
  [null, '2026-02-31', 'no value'],
  ['2026-11-21 12:00:00+00', '41', 'other type'],
  ['2026-11-21 12:00:00+00', '2026-13-45', 'other type'],
  ['2026-11-21 12:00:00+00', '999999d', 'other type'],
  ['2026-11-21 12:00:00+00', '0000-01-01', 'other type'],
  ['2026-11-21 12:00:00+00', '2026-02-31', 'other type'],
  ['2026-11-21 12:00:00+00', '2026-04-31 12:00:00+02', 'other type'],
  ['41', '2026-11-20', 'other type'],
  ['41', '3d', 'other type'],
  ['2026-11-21 12:00:00+00', '2026-11-21T12:00:01Z', 'not earlier'],
  ['2026-11-21 12:00:00+00', '1h', 'not earlier'],
  ['2026-11-20 12:00:00', '1h', 'not earlier'],
  ['2026-11-21 21:00:00', '2026-11-21T21:00:00', 'not earlier'],
  ['41', '41', 'not earlier'],
  ['9.5', '10', 'not earlier'],
  ['H-0041', 'H-0001', 'no order'],
])('a reading at the watermark %s with --since %s is refused: %s', (watermark, since, kind) => {
  expect(earlierCursor(watermark === null ? null : standing(watermark), since, now)).toMatchObject({ kind })
})

test.each([
  ['smallint', '-32768', '-32768.5'],
  ['integer', '-2147483648', '-2147483649'],
  ['bigint', '-9223372036854775808', '-9223372036854775809'],
])('a number that no %s can be is refused, and the least that can is not', (type, least, beyond) => {
  expect(earlierCursor(standing('41', type), least, now)).toEqual({ kind: 'earlier', cursor: least })
  expect(earlierCursor(standing('41', type), beyond, now)).toEqual({ kind: 'other type', watermark: '41' })
})
