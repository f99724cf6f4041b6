import { expect, it } from 'vitest'
import { decodeFramework } from '../../src/exchange/reference-data.ts'
import { processorMs } from '../helpers/processor-ms.ts'
import { contract } from './test-client.ts'

it('the index of frameworks reads a list of very many options in a time that grows with their number alone', () => {
  const options = Array.from({ length: 120_000 }, (_, nth) => ({ id: `option-${nth}` }))
  const json = { id: 'f', dataPoints: [{ id: 'd', options: [...options, { id: 'option-0' }] }] }
  // Comparing each with all before it takes half a minute.
  const read: number[] = []
  expect(
    processorMs(() => read.push(decodeFramework(contract, json).dataPoints[0]?.optionIds.length ?? 0)),
  ).toBeLessThan(10_000)
  expect(read).toEqual([120_000])
})
