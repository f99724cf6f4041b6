import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type {
  GetRunData,
  GetRunLiveData,
  GetTonightData,
  ListNightsData,
  ListWavesData,
} from '../../console/src/api-types.ts'
import type { Trace } from '../../console/src/trace.ts'
import { visitedDemo } from './visited-demo.ts'
import { answered, factOf, type Visit } from './watched-browser.ts'

let here: Visit
let page: Page
visitedDemo((demo) => {
  ;({ here, page } = demo)
})

const fact = (name: string) => factOf(page, name)

it('a hotel whose rows are all gone at the partner is not said to be accepted there', async () => {
  const gone_at = '2026-11-24T02:40:00.000Z'
  await answered<Trace>(page, /v1\/hotels\/H-0001$/, (trace) => ({
    ...trace,
    streams: trace.streams.map((stream) => ({ ...stream, rows: 0, accepted: 0, gone: stream.rows })),
    rows: trace.rows.map((row) => ({ ...row, state: 'gone', gone_at })),
  }))
  await here.open('hotel?id=H-0001')
  await here.see(/^The partner has no row of this hotel any more; \d+ rows are gone\.$/)
  expect(await fact('At the partner').textContent()).toContain('gone since 2026-11-24 02:40:00')
  expect(await page.getByText('Every row of this hotel is accepted.').count()).toBe(0)
})

it('rows of a hotel that are gone at the partner are told of beside those that are accepted', async () => {
  await answered<Trace>(page, /v1\/hotels\/H-0001$/, (trace) => ({
    ...trace,
    streams: [{ ...trace.streams[0], rows: 4, accepted: 4, gone: 25 }],
    rows: [{ ...trace.rows[0], state: 'accepted', gone_at: null }],
  }))
  await here.open('hotel?id=H-0001')
  await here.see('Every row that the partner still has is accepted; 25 rows are gone.')
  expect(await fact('Rows accepted').textContent()).toContain('25 rows gone at the partner; what the service took of')
  expect(await fact('At the partner').textContent()).not.toContain('gone since')
})

type Plan = { waves?: unknown }
const plans = async (given: object) => {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await answered<Plan>(page, /v1\/plan/, (plan) =>
    plan.waves === undefined ? plan : { ...plan, waves: [], rows: [], unsent: [], held: [], ...given },
  )
  await here.open('plan')
  await page.getByRole('button', { name: 'Work out what a run would send now' }).click()
  await here.see(/What a run would send, as of/)
}
const asTheService = 'Nothing would be sent: everything is as the service has it.'

it('a plan that sends nothing says that everything is at the service only where no row is kept back', async () => {
  const unsent = [{ stream: 'properties', state: 'invalid', rows: 300 }]
  await plans({ unsent })
  await here.see('Nothing would be sent.')
  expect(await page.getByText(asTheService).count()).toBe(0)
  await plans({ unsent, held: [{ run_id: 7, stream: 'properties' }] })
  await here.see('Nothing would be sent: the guard would stop the run.')
  expect(await page.getByText(asTheService).count()).toBe(0)
  await plans({})
  await here.see(asTheService)
})

it('a row that would go out as it was accepted is neither said to be new nor to be changed', async () => {
  const row = { stream: 'properties', partner_id: 'H-0001', row_key: 'k', to: { name: 'n' } }
  await plans({
    waves: [{ wave: 1, requests: [{ kind: 'properties', partition: '', rows: 2 }] }],
    rows: [
      { ...row, why: 'retried', from: { name: 'n' } },
      { ...row, why: 'its hotel is another company now', from: null },
    ],
  })
  const cells = await here.table('Planned rows').getByRole('cell').allTextContents()
  expect(cells.slice(2, 4)).toEqual(['retried', 'as it was accepted'])
  expect(cells.slice(6, 8)).toEqual(['its hotel is another company now', 'name: n'])
})

it('rows that wait for the key to be accepted wait for no row of a stream', async () => {
  const cause = { state: 'parked', stream: 'properties', code: 'requires_key', rows: 812, hotels: 200 }
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    causes: [{ ...cause, reason: 'key Unauthorized revoked', first_at: tonight.now, last_at: tonight.now }],
  }))
  await here.open('')
  await here.see('waits for the service to accept the API key: Unauthorized revoked')
})

it('the status of a request that was lost or given up is not that of its task when it was last looked at', async () => {
  const states = ['lost', 'abandoned', 'refused', 'settled']
  await answered<ListWavesData>(page, /\/waves/, (answer) => {
    const [wave] = answer.waves as { submissions: object[] }[]
    const [one] = wave?.submissions ?? []
    const submissions = states.map((state, place) => ({ ...one, submission_id: 900 + place, state, released_by: [] }))
    return { ...answer, waves: [{ ...wave, submissions }] }
  })
  await answered<GetRunData>(page, /v1\/runs\/1$/, (run) => {
    const { submissions } = run.report as { submissions: object[] }
    const told = states.map((_, place) => ({
      ...submissions[0],
      submission_id: 900 + place,
      task_status: 'InProgress',
    }))
    return { ...run, report: { ...(run.report as object), submissions: told } }
  })
  await here.open('night?run=1')
  const cells = here.table('Requests from 900 on').getByRole('cell')
  await cells.first().waitFor()
  const told = await cells.allTextContents()
  const width = told.length / states.length
  const statuses = states.map((_, place) => told[place * width + 3])
  expect(statuses).toEqual(['lost', 'abandoned', 'refused', 'InProgress'])
})

it.each([
  ['push', 'jobs.push.finishBy'],
  ['search:invoices', 'finishBy of its entry in pull.searches'],
])('a run of %s that has to end by a time names its own setting', async (job, setting) => {
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    run: { ...tonight.run, job, state: 'running', verdict: null, finished_at: null },
  }))
  await answered<GetRunLiveData>(page, /\/live/, (live) => ({ ...live, deadline: '2026-11-24T05:00:00.000Z' }))
  await here.open('')
  await expect.poll(() => fact('Has to end').textContent()).toContain(setting)
})

it('a night for another destination names it wherever the night is listed or shown', async () => {
  const destination = 'staging'
  await answered<ListNightsData>(page, /v1\/nights/, ({ nights, ...more }) => ({
    ...more,
    nights: nights.map((night) => ({ ...night, destination })),
  }))
  await answered<GetRunData>(page, /v1\/runs\/1$/, (run) => ({ ...run, destination }))
  await here.open('')
  await page.getByRole('link', { name: /^Run 1, .*, for staging/ }).waitFor()
  await here.open('night?run=1')
  await expect.poll(() => fact('Destination').textContent()).toContain('staging')
  await expect.poll(() => page.getByLabel('Night').first().textContent()).toContain(', for staging')
})
