import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { variablesOf } from '../../src/sandbox/processing/search/variables-of.ts'
import { madeUpWorld } from '../../src/sandbox/service-world.ts'

const ids = ['a', 'b', 'c', 'd'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`)

/** The variables of one calculator whose inputs have these values; a scan that does not end is broken off. */
function variablesWith(values: readonly string[]): string[] {
  const written = values.map((value, nth) => `${JSON.stringify(ids[nth])}: ${JSON.stringify(value)}`)
  const calculator = { id: '', companyId: '', typeId: '', year: 2025, month: null, outputs: '{}' }
  const scan = () => [...variablesOf(madeUpWorld, [{ ...calculator, inputs: `{${written.join(', ')}}` }])]
  return runInNewContext('scan()', { scan }, { timeout: 5000 }) as string[]
}

it.each([
  ['one quotation mark', '5" pipe'],
  ['quotation marks around it', '"quoted"'],
  ['three quotation marks', '"a" "'],
  ['a backslash at its end', 'C:\\'],
  ['backslashes before a quotation mark', '\\\\"'],
  ['nothing', ''],
])('the variables of calculators are exactly those that have a value, where a value holds %s', (_what, value) => {
  expect(variablesWith([value])).toEqual(ids.slice(0, 1))
  expect(variablesWith(['1', value, '2'])).toEqual(ids.slice(0, 3))
  expect(variablesWith([value, value, '2.5', value])).toEqual(ids)
})
