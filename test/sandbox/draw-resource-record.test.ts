import { expect, it } from 'vitest'
import { resourceRecord } from '../../src/sandbox/catalogue/resource-record.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { drawResourceYear } from '../../src/sandbox/draw-resource-record.ts'
import { computeOutputs, sumInputs } from '../../src/sandbox/processing/compute-outputs.ts'
import { madeUpWorld } from '../../src/sandbox/service-world.ts'

const seed = 7

it('drawResourceYear gives the outputs and the sums that the service computes from the same inputs', () => {
  for (let number = 1; number <= 150; number += 1) {
    const { months, year } = drawResourceYear(seed, number)
    for (const { inputs, outputs } of [...months, year]) {
      const record = { typeId: resourceRecord.id, outputs: {} }
      expect(computeOutputs(madeUpWorld, record, JSON.parse(inputs))).toEqual(JSON.parse(outputs))
    }
    expect(sumInputs(months.map(({ inputs }) => JSON.parse(inputs)))).toEqual(JSON.parse(year.inputs))
  }
})

it('drawResourceYear gives the same for the same seed and number, and something else for others', () => {
  expect(drawResourceYear(1, 1)).toEqual(drawResourceYear(1, 1))
  expect(drawResourceYear(1, 1)).not.toEqual(drawResourceYear(1, 2))
  expect(drawResourceYear(1, 1)).not.toEqual(drawResourceYear(2, 1))
})

it('a resource record is kept out of the lists that the demo feeds from', () => {
  expect(catalogue.calculatorTypes.map(({ id }) => id)).not.toContain(resourceRecord.id)
  expect(catalogue.everyCalculatorType.map(({ id }) => id)).toContain(resourceRecord.id)
})
