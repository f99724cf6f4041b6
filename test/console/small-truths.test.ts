import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type {
  GetRunData,
  GetRunLiveData,
  GetServiceData,
  GetTonightData,
  ListCausesData,
  ListNightsData,
  ListWavesData,
} from '../../console/src/api-types.ts'
import type { Trace } from '../../console/src/trace.ts'
import type { Served } from '../http/served.ts'
import { visitedDemo } from './visited-demo.ts'
import { answered, factOf, type Visit } from './watched-browser.ts'

let api: Served
let here: Visit
let page: Page
visitedDemo((demo) => {
  ;({ api, here, page } = demo)
})

const fact = (name: string) => factOf(page, name)

it('the end of a run under way stands with that run, and not under the next one', async () => {
  const scheduled = { next: '2026-11-24T01:30:00.000Z', ends: '2026-11-24T01:50:00.000Z', paused: null }
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({ ...tonight, ...scheduled }))
  await here.open('')
  expect(await fact('Next run').textContent()).toContain('ends about')
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    ...scheduled,
    run: { ...tonight.run, state: 'running', verdict: null, finished_at: null },
  }))
  await here.open('')
  await here.see(/^Run 1 is at work/)
  expect(await fact('Next run').textContent()).not.toContain('ends about')
})

it('a table whose list was cut says so, for causes, requests of a run under way and planned rows', async () => {
  const cause = { state: 'invalid', stream: 'properties', code: null, reason: 'r', rows: 1, hotels: 1 }
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    causes: [{ ...cause, first_at: tonight.now, last_at: tonight.now }],
    more_causes: true,
    run: { ...tonight.run, state: 'running', verdict: null, finished_at: null },
  }))
  await answered<GetRunLiveData>(page, /\/live/, (live) => ({ ...live, more: { streams: false, submissions: true } }))
  await here.open('')
  await here.see(/^Run 1 is at work/)
  await expect.poll(() => page.getByText('There are more than these.').count()).toBe(2)

  await answered<{ waves?: unknown; rows: unknown[] }>(page, /v1\/plan/, (plan) =>
    plan.waves === undefined
      ? plan
      : {
          ...plan,
          waves: [{ wave: 1, requests: [{ kind: 'properties', partition: '', rows: 1_203 }] }],
          rows: [
            { stream: 'properties', partner_id: 'H-0001', row_key: 'k', why: 'new', from: null, to: { name: 'n' } },
          ],
        },
  )
  await here.open('plan')
  await page.getByRole('button', { name: 'Work out what a run would send now' }).click()
  await here.see('1,202 more are not shown.')
})

it('a night that the guard holds is not said to need nobody', async () => {
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    causes: [],
    needs: [{ state: 'held', rows: 9, hotels: 9 }],
    held: [{ run_id: 41, stream: 'properties', reason: 'share', known: 10, new: 0, changed: 9, gone: 0 }],
  }))
  await here.open('')
  await here.see(/The guard stopped run 41/)
  await here.see('Nothing but what the guard holds until somebody approves it.')
  expect(await page.getByText('is accepted, or on its way').count()).toBe(0)
  await here.open('plan')
  await here.see('stopped run 41')
})

it('a request at work is drawn neither as one that failed nor as one that ended', async () => {
  const states = ['settled', 'planned', 'sending', 'accepted', 'terminal', 'uncertain', 'refused', 'lost', 'abandoned']
  await answered<ListWavesData>(page, /\/waves/, (answer) => {
    const [wave] = answer.waves as { submissions: object[] }[]
    const [one] = wave?.submissions ?? []
    const submissions = states.map((state, place) => ({ ...one, submission_id: 900 + place, state, released_by: [] }))
    return { ...answer, waves: [{ ...wave, submissions }] }
  })
  await here.open('night?run=1')
  await expect.poll(() => page.locator('rect.lane').count()).toBe(states.length)
  const classes = await page.locator('rect.lane').evaluateAll((all) => all.map((one) => one.getAttribute('class')))
  const tones = classes.map((words) => words?.replace('lane', '').trim())
  expect(tones).toEqual(['', ...Array(5).fill('running'), 'failed', 'failed', 'failed'])
})

it('a run without a report is compared as one of which nothing was counted, and not as one that read nothing', async () => {
  const line = { stream: 'properties', read: 7, sent: 5, rejected: 0, parked: 0 }
  const runs = { 7: { streams: [line] }, 6: null }
  await page.route(/v1\/runs\/[67]$/, async (route) => {
    const run = Number(/\d$/.exec(route.request().url())?.[0]) as 6 | 7
    const answer = await route.fetch({ url: `${api.url}/v1/runs/1` })
    const json = (await answer.json()) as GetRunData
    await route.fulfill({ response: answer, json: { ...json, run_id: run, report: runs[run] } })
  })
  await page.route(/v1\/runs\/[67]\/(waves|warnings)/, (route) =>
    route.fulfill({ json: { waves: [], taken_over: [], warnings: [], more: false } }),
  )
  await here.open('night?run=7&with=6')
  const cells = here.table('Run 7 beside run 6').getByRole('cell')
  await here.see('Run 6 has no report: nobody counted its rows.')
  expect(await cells.allTextContents()).toEqual(['properties', '7', '', '5', '', '0', '', '0', ''])
})

it('the oldest night has none before it to be put beside', async () => {
  const listed = (change: (nights: ListNightsData['nights']) => unknown[]) =>
    answered<ListNightsData>(page, /v1\/nights/, (answer) => ({ ...answer, nights: change(answer.nights) }))
  await listed((nights) => [...nights, { ...nights[0], run_id: 0 }])
  await here.open('night?run=1')
  await page.getByRole('link', { name: 'Beside the night before' }).waitFor()
  await listed((nights) => [{ ...nights[0], run_id: 2 }, ...nights])
  await here.open('night?run=1')
  await here.see('Run 1 of nightly-sync')
  expect(await page.getByRole('link', { name: 'Beside the night before' }).count()).toBe(0)
})

it('a night is put beside the one before of the same job', async () => {
  await answered<ListNightsData>(page, /v1\/nights/, ({ nights, ...answer }) => ({
    ...answer,
    nights: [...nights, { ...nights[0], run_id: 0, job: 'pull-calculators' }, { ...nights[0], run_id: -1 }],
  }))
  await here.open('night?run=1')
  await page.getByRole('link', { name: 'Beside the night before' }).click()
  await expect.poll(() => page.url()).toContain('with=-1')
})

const assurance = 'Nothing. Every row of the streams that are read is accepted, or on its way.'

it.each([
  ['no night has run', null],
  ['the last night failed', { state: 'failed', verdict: null }],
  ['a night is under way', { state: 'running', verdict: null, finished_at: null }],
  ['only pages were loaded', { job: 'pull-calculators' }],
])('every row is not said to be accepted where %s', async (_, run) => {
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    causes: [],
    needs: [],
    run: run === null ? null : { ...tonight.run, ...run },
  }))
  await here.open('')
  await here.see('Of what was read, no row needs a person.')
  expect(await page.getByText(assurance).count()).toBe(0)
})

it('every row is said to be accepted after a night that ended well', async () => {
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({ ...tonight, causes: [], needs: [] }))
  await here.open('')
  await here.see(assurance)
})

it('rows that were counted an hour ago are not said to be of now', async () => {
  const counted = '2026-11-23T02:40:00.000Z'
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({ ...tonight, needs_as_of: counted }))
  await answered<ListCausesData>(page, /v1\/rows\/causes/, (causes) => ({ ...causes, as_of: counted }))
  await here.open('')
  await here.see('rows counted 2026-11-23 02:40:00')
  await here.open('rows?state=rejected')
  await here.see('counted 2026-11-23 02:40:00')
})

it('a key that no call has used is not said to be accepted', async () => {
  await answered<GetServiceData>(page, /v1\/service/, (service) => ({ ...service, key: null, key_refused: null }))
  await here.open('service')
  await expect.poll(() => fact('Key').textContent()).toBe('Keynot used yet')
})

it('an age that grows each second is told to no screen reader', async () => {
  await here.open('')
  await page.route(/v1\//, (route) => route.abort())
  await here.see(/Nightferry does not answer\. What you see is .* old\./)
  const spoken = page.getByRole('status').filter({ hasText: 'Nightferry does not answer.' })
  expect(await spoken.getByText('What you see is').count()).toBe(0)
  expect(here.errors().every((words) => words.includes('ERR_FAILED'))).toBe(true)
})

it('a hotel whose company is gone at the service is not said to be there', async () => {
  await answered<Trace>(page, /v1\/hotels\/H-0001$/, (trace) => ({
    ...trace,
    company: { ...trace.company, removed_at: '2026-11-23T02:40:00.000Z' },
    differences: [{ kind: 'foreign' }],
  }))
  await here.open('hotel?id=H-0001')
  await expect.poll(() => fact('At the service').textContent()).toContain('gone since 2026-11-23 02:40:00')
  expect(await fact('Differences').textContent()).toContain('1 more there that was never sent')
})

it('pages that failed are told of while a run is under way', async () => {
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    run: { ...tonight.run, state: 'running', verdict: null, finished_at: null },
  }))
  await answered<GetRunLiveData>(page, /\/live/, (live) => ({ ...live, pages: 9, pages_loaded: 5, pages_failed: 2 }))
  await here.open('')
  await expect.poll(() => fact('Pages loaded').textContent()).toMatch(/5 of 9.*2 failed/)
})

it('the time left of a run is told by the clock of the daemon, whatever this computer’s clock says', async () => {
  const off = await here.newPage()
  await answered<GetTonightData>(off, /v1\/tonight/, (tonight) => ({
    ...tonight,
    run: { ...tonight.run, state: 'running', verdict: null, finished_at: null },
  }))
  const endsIn40 = () => new Date(Date.now() + 40.5 * 60_000).toISOString()
  await answered<GetRunLiveData>(off, /\/live/, (live) => ({ ...live, ends_at: endsIn40() }))
  await off.clock.setFixedTime(Date.now() + 2 * 3_600_000)
  await off.goto(`${api.url}/console/`)
  await off.getByText(/^about 40 min/).waitFor()
  const [, at] = /as of (\S+ \S+), /.exec((await off.locator('[data-age]').textContent()) ?? '') ?? []
  expect(Math.abs(Date.parse(`${at?.replace(' ', 'T')}Z`) - Date.now())).toBeLessThan(10 * 60_000)
  const asked = off.waitForRequest(/v1\/rows\?.*since=/)
  await off.goto(`${api.url}/console/rows?days=1`)
  const since = new URL((await asked).url()).searchParams.get('since') ?? ''
  expect(Math.abs(Date.parse(since) + 86_400_000 - Date.now())).toBeLessThan(10 * 60_000)
  await off.close()
})

it('somebody who signs out while nobody answers is told that they are still signed in, and signs out later', async () => {
  await here.open('')
  await page.route(/console\/session/, (route) => route.abort())
  const button = page.getByRole('button', { name: 'Sign out' })
  await button.click()
  await here.see('You are still signed in: Nightferry does not answer.')
  expect(await button.count()).toBe(1)
  expect(here.errors().every((words) => words.includes('ERR_FAILED'))).toBe(true)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await button.click()
  await page.getByLabel('Token').waitFor()
})
