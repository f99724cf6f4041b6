import { expect, it } from 'vitest'
import { carryingJobs } from '../../src/config/known-names.ts'
import { settings } from '../../src/config/schema.ts'

const at = (schedule: string) => ({ schedule })
const [early, late] = [at('30 2 * * *'), at('0 5 * * *')]
const streams = { properties: { query: 'select 1', capture: 'snapshot' } }

it.each([
  ['the night, which does what the others do', { 'nightly-sync': late, push: early }, ['nightly-sync']],
  ['those that have a schedule', { push: early, 'pull-calculators': late }, ['push', 'pull-calculators']],
  ['none that carries no data', { push: early, housekeeping: late, 'refresh-reference': late }, ['push']],
  ['the night where no other has a schedule', { housekeeping: late }, ['nightly-sync']],
])('the jobs that carry the data are %s', (_, jobs, expected) => {
  expect(carryingJobs(settings.parse({ streams, jobs }))).toEqual(expected)
})

it('the jobs that carry the data are the searches that have a schedule where nothing else has one', () => {
  const searches = [
    { name: 'offers', search: 'standardsSearch', ...early },
    { name: 'rest', search: 'standardsSearch' },
  ]
  expect(carryingJobs(settings.parse({ streams, pull: { searches } }))).toEqual(['search:offers'])
  expect(carryingJobs(settings.parse({ streams, pull: { searches }, jobs: { push: early } }))).toEqual(['push'])
})

it('the job that carries data where nothing is sent brings the calculators back, whatever jobs that send have', () => {
  expect(carryingJobs(settings.parse({}))).toEqual(['pull-calculators'])
  expect(carryingJobs(settings.parse({ jobs: { 'nightly-sync': early, push: late } }))).toEqual(['pull-calculators'])
})
