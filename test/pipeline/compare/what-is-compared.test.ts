import { expect, test } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import { judgeComparison } from '../../../src/doctor/judge-comparison.ts'
import { whatIsCompared } from '../../../src/pipeline/compare/what-is-compared.ts'
import { contract } from '../pull/sample-page.ts'
import { ids } from '../push/rows.ts'

const sent = ['properties', 'omissions', 'calculator_inputs', 'calculator_settings', 'standard_holders'] as const
const streams = Object.fromEntries(sent.map((name) => [name, { query: 'select 1', capture: 'snapshot' }]))
const companies = {
  name: 'ours',
  search: 'companiesSearch',
  body: { customPropertyIds: [ids.identifier] },
}

function compared(searches: readonly object[], jobs: object = {}) {
  const config = settings.parse({ exchange: { customIdentifierId: ids.identifier }, pull: { searches }, jobs, streams })
  return whatIsCompared(contract, config)
}

const reasons = (of: ReturnType<typeof compared>) => of.kinds.map(({ kind, lack }) => [kind, lack?.why ?? null])

test('kinds that are sent are compared where a search shows all of them, and it is said of the others why not', () => {
  const selecting = { name: 'some', search: 'frameworkAnswersSearch', body: { frameworkIds: [ids.property] } }
  const found = compared([companies, selecting])
  expect(reasons(found)).toEqual([
    ['inputs', null],
    ['answers', 'the search selects frameworks, so absence proves nothing'],
    ['standard_holders', 'pull.searches has no standardHoldersSearch'],
    ['mappings', null],
  ])
  expect(found.kinds[1]?.streams).toEqual(['omissions'])
  expect(found.unseen).toEqual(['calculator_settings'])
  const told = judgeComparison(found)
  expect(told.map(({ level, what }) => [level, what])).toEqual([
    ['ok', 'Compared: calculator inputs, mappings; no search shows calculator_settings'],
    ['advice', 'Not compared: answers and omissions, because the search selects frameworks, so absence proves nothing'],
    ['advice', 'Not compared: standards held, because pull.searches has no standardHoldersSearch'],
  ])
})

test('nothing is compared where other jobs have schedules and nightly-sync has none', () => {
  const pushing = compared([companies], { push: { schedule: '0 * * * *' } })
  const why = 'only nightly-sync compares, and it has no schedule'
  expect(new Set(pushing.kinds.map(({ lack }) => lack?.why))).toEqual(new Set([why]))
  expect(judgeComparison(pushing)).toMatchObject([
    { level: 'ok', what: 'Nothing that is sent is compared; no search shows calculator_settings' },
    { level: 'advice', todo: 'set jobs.nightly-sync.schedule as well, for instance once a week' },
  ])
  const both = { push: { schedule: '0 * * * *' }, 'nightly-sync': { schedule: '0 2 * * 0' } }
  expect(reasons(compared([companies], both))).toEqual(reasons(compared([companies])))
})
