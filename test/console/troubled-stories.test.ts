import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { posted, runToEnd, tokens } from '../http/served.ts'
import { startChromium } from './chromium.ts'
import { examinePages } from './examine-pages.ts'
import { nights, strangers, troubledWorld } from './troubled-night.ts'
import { shotsOf, type Visit, visit, watchedContext } from './watched-browser.ts'

const browser = await ofThisFile(startChromium())
const api = await ofThisFile(troubledWorld())
let here: Visit
let page: Page
const shots = shotsOf('troubled')

beforeAll(async () => {
  const viewport = { width: 1280, height: 900 }
  here = await visit(api, await watchedContext(browser, { viewport, acceptDownloads: true }))
  page = here.page
})
afterEach(() => {
  expect(here.errors()).toEqual([])
  expect(here.refusals()).toEqual([])
})

const open = (path: string) => here.open(path)
const table = (name: string) => here.table(name)
const see = (text: string | RegExp) => here.see(text)

const paths = {
  'tonight, which the guard holds': '',
  'the night of refusals': `night?run=${nights.refusals}`,
  'the night of tasks in error': `night?run=${nights.tasksInError}`,
  'the night that failed': `night?run=${nights.failed}`,
  'the night that is held': `night?run=${nights.held}`,
  'a failed night beside a night of refusals': `night?run=${nights.failed}&with=${nights.refusals}`,
  'rejected rows': 'rows?state=rejected',
  'invalid rows': 'rows?state=invalid',
  'parked rows': 'rows?state=parked',
  'unknown rows, of which there are none': 'rows?state=unknown',
  'a hotel that nobody knows': 'hotel?id=H-9991',
  'a hotel in Arabic': 'hotel?id=H-9992',
  'a hotel in Japanese and Chinese': 'hotel?id=H-9994',
  'a hotel whose values are gone': 'hotel?id=H-0003',
  'a hotel with hostile documents': 'hotel?id=H-0008',
  values: 'values',
  plan: 'plan',
  service: 'service',
  doctor: 'doctor',
}

examinePages('troubled', paths, () => ({ visit: here, shots }))

describe('on the morning after a troubled night, somebody', () => {
  it('reads in one sentence that the guard holds it, and what else needs them', async () => {
    await open('')
    const sentence = await page.locator('.sentence').textContent()
    expect(sentence).toMatch(/needs you: the guard stopped it over 1 stream, \d+ rows? rejected/)
    expect(sentence).toMatch(/\d+ invalid, \d+ parked behind \d+ hotels, \d+ held by the guard/)
  })
  it('tells failed nights from others by a word and a sign, not by colour alone', async () => {
    const failed = page.getByRole('link', { name: new RegExp(`^Run ${nights.failed}, .*: failed`) }).first()
    expect(await failed.locator('b').textContent()).toBe('✕')
    const partial = page.getByRole('link', { name: new RegExp(`^Run ${nights.refusals}, .*: partial`) }).first()
    expect(await partial.locator('b').textContent()).toBe('!')
  })
  it('somebody is told of each cause what to do about it', async () => {
    for (const todo of ['Look, fix, retry', 'Fix at the partner', 'See what they wait for']) {
      await table('Causes').getByRole('link', { name: todo }).first().waitFor()
    }
  })
  it('reads in words what parked rows wait for', async () => see(/waits for its row of properties, which is held/))
  it('goes from the strip to the night that failed, and reads why', async () => {
    await page
      .getByRole('link', { name: new RegExp(`^Run ${nights.failed}, `) })
      .first()
      .click()
    await see(/The query of the stream properties failed/)
    await see('The run failed before it could report.')
  })
  it('reads which requests of a night ended in error', async () => {
    await open(`night?run=${nights.tasksInError}`)
    await page.getByRole('region', { name: /^Requests from/ }).waitFor()
    expect(
      await page
        .getByRole('region', { name: /^Requests from/ })
        .getByText('settled')
        .count(),
    ).toBeGreaterThan(3)
    await see(/brought nothing: .*The request could not be carried out/)
  })
  it('reads what a night warned of while it worked', async () => {
    await open(`night?run=${nights.refusals}`)
    await table(`Warnings of run ${nights.refusals}`).getByText('1 rows have no cursor').waitFor()
  })
  it('reads sums of the night of refusals that are those of its report', async () => {
    await open(`night?run=${nights.refusals}`)
    const { report } = await api.json<{ report: { streams: { rejected: number }[]; remarks: string[] } }>(
      `/v1/runs/${nights.refusals}`,
    )
    const rejected = report.streams.reduce((sum, { rejected: rows }) => sum + rows, 0)
    expect(rejected).toBeGreaterThan(4)
    const line = table(`Streams of run ${nights.refusals}`).getByRole('row').last().getByRole('cell')
    expect(await line.nth(11).textContent()).toBe(String(rejected))
    for (const remark of report.remarks) await see(remark)
  })
  it('puts a night that failed beside one that did not', async () => {
    await open(`night?run=${nights.failed}&with=${nights.refusals}`)
    await table(`Run ${nights.failed} beside run ${nights.refusals}`).getByText('framework_answers').waitFor()
    await see('The run failed before it could report.')
  })
})

describe('somebody who sorts troubles out', () => {
  it('finds several reasons of the service, each once', async () => {
    await open('rows?state=rejected')
    const reasons = await table('Causes of rejected rows').getByRole('link').allTextContents()
    expect(reasons.length).toBeGreaterThanOrEqual(2)
    expect(new Set(reasons).size).toBe(reasons.length)
  })
  it('narrows rejected rows down to a text in the reason', async () => {
    await page.getByLabel('Text in the reason').fill('2000000 is outside')
    await page.getByLabel('Text in the reason').press('Enter')
    await page.waitForURL(/reason=2000000/)
    await expect.poll(() => table('Rows rejected').getByRole('row').count()).toBe(2)
  })
  it('finds the rows of four hotels that nobody knows, each under its own script', async () => {
    for (const [id, name] of Object.entries(strangers)) {
      await open(`hotel?id=${id}`)
      await page.locator('bdi[dir=auto]', { hasText: name }).first().waitFor()
      await see('not mapped')
    }
  })
  it('saves parked rows as CSV, with every script as it is', async () => {
    await open('rows?state=parked&hotel=H-9994')
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Save as CSV \(Rows parked/ }).click(),
    ])
    const text = await readFile(await saved.path(), 'utf8')
    expect(text.split('\r\n').filter((line) => line.startsWith('H-9994'))).toHaveLength(6)
  })
  it('sees why an invalid row is kept back, with what is in it', async () => {
    await open('rows?state=invalid')
    await table('Rows invalid')
      .getByRole('row', { name: /latitude 91 is not between/ })
      .getByText('show')
      .click()
    await see(strangers['H-9992'])
  })
  it('somebody who sorts troubles out is told that no row is unknown', async () => {
    await open('rows?state=unknown')
    await see('No row is unknown.')
  })
  it('sees which values of a hotel are no longer at the service', async () => {
    await open('hotel?id=H-0003')
    await table('Inputs').getByText('not there').first().waitFor()
  })
  it('sees what the service said of a task that ended in error', async () => {
    await open('service')
    await table('Tasks').getByText('The request could not be carried out.').first().waitFor()
  })
  it('the plan says that the guard would hold the next run, too', async () => {
    await open('plan')
    await page.getByRole('button', { name: 'Work out what a run would send now' }).click()
    await see(/What a run would send, as of/)
    await see('would stop it')
    await see('Nothing would be sent: the guard would stop the run.')
    expect(await page.getByText('everything is as the service has it').count()).toBe(0)
  })
})

it('lists that are cut say how many more there are, on the page of a hotel and of the service', async () => {
  await api.world.pool.query(
    `insert into action (verb, acted_by, host, rows, asked)
     select 'retry', 'Bo', 'here', 1, '{"partnerId": "H-0010"}' from generate_series(1, 1100)`,
  )
  await open('hotel?id=H-0010')
  await see('100 older actions: nightferry trace shows them all.')
  await open('service')
  await see('There are more than these.')
  await api.world.pool.query(`delete from action where acted_by = 'Bo'`)
})

describe('by keyboard alone, somebody', () => {
  it('opens the night that failed from the strip', async () => {
    await open('')
    const night = page.getByRole('link', { name: new RegExp(`^Run ${nights.failed}, `) }).first()
    await night.focus()
    await page.keyboard.press('Enter')
    await see(/The query of the stream properties failed/)
  })
  it('looks at what the guard holds, and leaves it held with Escape', async () => {
    await open('')
    await page.getByRole('button', { name: 'Approve …' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('These are examples').waitFor()
    await page.getByRole('dialog').getByText('Resort').first().waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate<string>('document.activeElement?.textContent')).toBe('Approve …')
    expect(await approvals()).toBe(0)
  })
  it('narrows parked rows down to a hotel, from anywhere', async () => {
    await open('')
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.waitForURL(/\/rows/)
    await page.getByLabel('Hotel', { exact: true }).focus()
    await page.keyboard.type('H-9991')
    await page.keyboard.press('Enter')
    await page.waitForURL(/hotel=H-9991/)
  })
})

async function approvals(): Promise<number> {
  const { rows } = await api.world.pool.query(
    `select from action where verb = 'approve' and acted_by = 'Ann (console)'`,
  )
  return rows.length
}

describe('what the guard holds', () => {
  it('what the guard holds is shown to somebody who may only read, without a way to approve it', async () => {
    const reader = await visit(api, await watchedContext(browser), tokens.read)
    await reader.open('')
    await reader.see(/The guard stopped run 5/)
    expect(await reader.page.getByRole('button', { name: 'Approve …' }).count()).toBe(0)
    expect([...reader.errors(), ...reader.refusals()]).toEqual([])
    await reader.context.close()
  })
  it('what the guard holds is told of, and can be approved, also after a night that failed before it read it', async () => {
    const { partnerPool } = api.world
    await partnerPool.query('alter table hotelier.hotel rename to hotel_away')
    await runToEnd(api)
    await partnerPool.query('alter table hotelier.hotel_away rename to hotel')
    for (const path of ['', 'rows', 'plan']) {
      await open(path)
      await see(/The guard stopped run 5/)
      expect(await page.getByRole('button', { name: 'Approve …' }).count()).toBe(1)
    }
    await see('stopped run 5')
  })
  it('what the guard holds goes out after the preview and a yes, and the page that stays open says what came of it', async () => {
    await open('')
    await page.getByRole('button', { name: 'Approve …' }).click()
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText(/The guard stopped run 5/).waitFor({ state: 'detached' })
    expect(await approvals()).toBe(1)
    await api.json('/v1/jobs/nightly-sync/runs', posted({}), 202)
    await page
      .getByRole('link', { name: /^Run 7, / })
      .first()
      .waitFor()
    const sentence = () => page.locator('.sentence').textContent()
    await expect.poll(sentence).toMatch(/^The last run ended/)
    expect(await sentence()).not.toContain('the guard stopped it')
  })
})
