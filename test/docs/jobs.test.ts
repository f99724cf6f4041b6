import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import type { Job } from '../../src/jobs/job.ts'
import { jobsOf } from '../../src/jobs/known-jobs.ts'
import { temporaryFile } from '../config/temporary-file.ts'
import { readPage, section } from './pages.ts'

const table = section(readPage('docs/service.md'), 'Jobs')

function jobs(): Job[] {
  const streams = 'streams: { properties: { query: select 1, capture: snapshot } }'
  const file = temporaryFile(`pull: { searches: [{ name: any, search: companiesSearch }] }\n${streams}`)
  return jobsOf(loadConfig({ file, environment: {} }))
}

test('docs/service.md lists every job with its steps, which --only takes by these names', () => {
  const listed = [...table.matchAll(/^\| `([^`]+)` +\|[^|]*\| ([^|]*) \|$/gm)].map(([, job = '', steps = '']) => [
    job.replace('<name>', 'any'),
    [...steps.matchAll(/`(\w+)`/g)].map(([, step]) => step),
  ])
  expect(listed).toEqual(jobs().map(({ name, steps }) => [name, steps.map((step) => step.name)]))
})

test('the step that compares belongs to the job that docs/service.md and docs/runbook.md name, and to no other', () => {
  const comparing = jobs()
    .filter(({ steps }) => steps.some(({ name }) => name === 'compare'))
    .map(({ name }) => name)
  expect(comparing).toEqual(['nightly-sync'])
  const told = /Only `nightly-sync` compares/
  expect(table).toMatch(told)
  expect(section(readPage('docs/runbook.md'), 'Does the service show what was sent?')).toMatch(told)
})
