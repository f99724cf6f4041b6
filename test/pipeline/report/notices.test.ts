import { expect, test } from 'vitest'
import type { StreamReport } from '../../../src/db/runs/report-rows.ts'
import { noticesOf } from '../../../src/pipeline/report/notices.ts'

const stream = (change: Partial<StreamReport>) =>
  ({ stream: 'properties', protection: 'transactions', gone: 0, returned: 0, ...change }) as StreamReport

test('a night on which nothing is gone and every cursor is protected has no notice', () => {
  expect(noticesOf([stream({}), stream({ protection: null })])).toEqual([])
})

test.each<[Partial<StreamReport>, RegExp]>([
  [{ gone: 3 }, /^3 of the rows known are gone at the partner.*nightferry drift/],
  [{ returned: 2 }, /^2 of the rows that had been gone are there again/],
  [{ protection: 'none' }, /^The cursor of properties, properties is no time: .*committed late is missed/],
  [{ protection: 'overlap' }, /of properties, properties, a row committed late .*partner\.overlapMs/],
])('says of %j what it means', (change, notice) => {
  const streams = [stream(change), stream({ ...change, gone: 0, returned: 0 }), stream({ stream: 'omissions' })]
  expect(noticesOf(streams)).toEqual([expect.stringMatching(notice)])
})
