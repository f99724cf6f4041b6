import { expect, test } from 'vitest'
import { outline } from '../../src/conformance/outline.ts'
import { answerRules } from './answer-rules.ts'
import { endpointRules } from './endpoint-rules.ts'
import { eventRules } from './event-rules.ts'
import { pageRules } from './page-rules.ts'
import { serviceRules } from './service-rules.ts'
import { webhookRules } from './webhook-rules.ts'

const unused = () => {
  throw new Error('no rule is broken here')
}
const rules = [
  ...serviceRules(unused),
  ...endpointRules(),
  ...pageRules(),
  ...answerRules(),
  ...eventRules(),
  ...webhookRules(),
]

test('at least eighty rules are broken, each under its own statement', () => {
  const named = rules.map(({ statement, rule }) => `${statement}: ${rule}`)
  expect(named.filter((one, at) => named.indexOf(one) !== at)).toEqual([])
  expect(named.length).toBeGreaterThanOrEqual(80)
})

test('a rule of every section is broken', () => {
  const broken = new Set<string>(rules.map(({ statement }) => statement))
  const spared = outline.filter(({ entries }) => !entries.some(({ id }) => broken.has(id)))
  expect(spared.map(({ heading }) => heading)).toEqual([])
})
