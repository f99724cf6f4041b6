import { expect, it } from 'vitest'
import { decodeTask } from '../../src/exchange/task.ts'
import { booleanOf, integerOf, objectOf, textOf } from '../../src/exchange/wire-value.ts'
import { processorMs } from '../helpers/processor-ms.ts'
import { contract } from './test-client.ts'

it('the decoder reads what a field holds, and nothing into what it does not', () => {
  const strange: unknown[] = [undefined, null, true, 1.5, Infinity, 2 ** 53, -7, '', '12', '1e3', [], { a: 1 }]
  expect(strange.map(textOf)).toEqual([
    null,
    null,
    null,
    '1.5',
    null,
    String(2 ** 53),
    '-7',
    '',
    '12',
    '1e3',
    null,
    null,
  ])
  expect(strange.map(integerOf)).toEqual([null, null, null, null, null, null, -7, null, 12, null, null, null])
  expect(strange.map(booleanOf)).toEqual([null, null, true, ...Array(9).fill(null)])
  expect(strange.map(objectOf)).toEqual([...Array(11).fill(null), { a: 1 }])
})

it('the decoder reads a task with as many errors as a request has rows without standing still', () => {
  const row = { identifiedByValue: 'H-0001', dataPointId: 'd', reason: 'refused' }
  const task = { correlationId: 'c1', status: 'Error', error: { rowErrors: new Array(100_000).fill(row) } }
  // The process answers nobody meanwhile. With a schema for each field it took 10 seconds.
  expect(processorMs(() => decodeTask(contract, task))).toBeLessThan(3_000)
})
