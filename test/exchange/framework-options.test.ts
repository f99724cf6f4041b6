import { expect, it } from 'vitest'
import { decodeFramework } from '../../src/exchange/reference-data.ts'
import { contract } from './test-client.ts'

it('reads a list of very many options in a time that grows with their number alone', () => {
  const options = Array.from({ length: 120_000 }, (_, nth) => ({ id: `option-${nth}` }))
  const json = { id: 'f', dataPoints: [{ id: 'd', options: [...options, { id: 'option-0' }] }] }
  // Comparing each with all before it takes half a minute.
  const begun = performance.now()
  const { dataPoints } = decodeFramework(contract, json)
  expect(performance.now() - begun).toBeLessThan(10_000)
  expect(dataPoints[0]?.optionIds.length).toBe(120_000)
})
