import { readFile } from 'node:fs/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { runToEnd, served, tokens } from '../http/served.ts'
import { startChromium } from './chromium.ts'
import { examinePages } from './examine-pages.ts'
import { linkOf, shotsOf, type Visit, visit, watchedContext } from './watched-browser.ts'

const script = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

const browser = await ofThisFile(startChromium())
const api = await ofThisFile(served({ hotels: 20 }))
let context: BrowserContext
let page: Page
let here: Visit
const shots = shotsOf('demo')

beforeAll(async () => {
  await runToEnd(api)
  await applySecondNight(api.world.partnerPool, { hotels: 20, seed: 7, asOf: new Date() })
  // Nobody at the service has heard of these, and what is sent of one waits. One name would be a script.
  await api.world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name) values (991, 'H-9991', $1), (992, 'H-9992', 'فندق لا يعرفه أحد')`,
    [script],
  )
  await api.world.partnerPool.query(
    `insert into hotelier.calculation_setting (hotel_id, automatic_yearly_calculation, automatic_publishing)
     values (991, true, false)`,
  )
  await api.world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name, latitude, longitude) values (998, 'H-9980', 'Beyond', 91, 181)`,
  )
  await runToEnd(api)
  const viewport = { width: 1280, height: 900 }
  here = await visit(api, await watchedContext(browser, { viewport, acceptDownloads: true }))
  context = here.context
  page = here.page
})
afterEach(() => {
  expect(here.errors()).toEqual([])
  expect(here.refusals()).toEqual([])
})

const open = (path: string) => here.open(path)
const table = (name: string) => here.table(name)
const see = (text: string | RegExp) => here.see(text)
/** A story that has the browser fail says which complaints belong to it. */
const forgive = (words: RegExp) => expect(here.errors().filter((one) => !words.test(one))).toEqual([])

const paths = {
  tonight: '',
  night: 'night?run=2',
  'two nights': 'night?run=2&with=1',
  rows: 'rows?state=rejected',
  parked: 'rows?state=parked',
  hotel: 'hotel?id=H-0005',
  'a hotel with a hostile name': 'hotel?id=H-9991',
  values: 'values',
  plan: 'plan',
  service: 'service',
  doctor: 'doctor',
}

examinePages('demo', paths, () => ({ visit: here, shots }))

describe('somebody who looks in the morning', () => {
  it('reads in one sentence how the night went', async () => {
    await open('')
    expect(await page.locator('.sentence').textContent()).toMatch(/The last run ended at .* and needs you: .*rejected/)
  })
  it('sees that the data are as fresh as promised', async () => see('as promised'))
  it('sees the time zone of every moment', async () => {
    expect(await page.locator('[data-zone]').textContent()).toBe('UTC')
  })
  it('goes from a bar of the strip to its night', async () => {
    await page
      .getByRole('link', { name: /^Run 1,/ })
      .first()
      .click()
    await see('Run 1 of nightly-sync')
    expect(page.url()).toContain('night?run=1')
  })
  it('comes back with the button of the browser', async () => {
    await page.goBack()
    await see(/and needs you/)
  })
  it('goes from a cause to its rows', async () => {
    await page.getByRole('link', { name: 'Look, fix, retry' }).first().click()
    await table('Rows rejected').waitFor()
    expect(page.url()).toContain('state=rejected')
  })
  it('takes the causes along as CSV', async () => {
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Save as CSV \(Causes/ }).click(),
    ])
    expect(await readFile(await saved.path(), 'utf8')).toMatch(/^\ufeffRows,Hotels,Stream/)
  })
})

describe('somebody who looks for rejected rows', () => {
  it('chooses a state', async () => {
    await open('rows')
    await page.getByRole('link', { name: 'parked', exact: true }).click()
    await table('Rows parked').waitFor()
  })
  it('narrows them down to a hotel, and the address says so', async () => {
    await page.getByLabel('Hotel', { exact: true }).fill('H-9991')
    await page.getByLabel('Hotel', { exact: true }).press('Enter')
    await page.waitForURL(/hotel=H-9991/)
    await table('Rows parked').getByText('H-9991').first().waitFor()
  })
  it('sends the address to a colleague, who sees the same', async () => {
    const address = page.url()
    const other = await here.newPage()
    await other.goto(address)
    await other.getByRole('region', { name: 'Rows parked' }).getByText('H-9991').first().waitFor()
    await other.close()
  })
  it('somebody who looks for rejected rows is told that no row is like that', async () => {
    await open('rows?state=rejected&reason=nobody-ever-said-this')
    await see('No row is rejected and fits the filter.')
  })
  it('somebody who misspells a hotel is told which may be meant, and not that it has no rejected row', async () => {
    await page.goto(`${api.url}/console/rows?state=rejected&hotel=h-0001`)
    const told = page.getByText(
      /^Nothing to show yet\. Nothing was ever read of a hotel 'h-0001'\. Was H-0001 meant\?$/,
    )
    await expect.poll(() => told.count()).toBe(2)
    expect(await page.getByText(/No row is rejected|^None\.$/).count()).toBe(0)
    forgive(/404/)
  })
  it('opens the content of a row', async () => {
    await open('rows?state=invalid')
    await table('Rows invalid')
      .getByRole('row', { name: /latitude/ })
      .getByText('show')
      .click()
    await see('"name": "Beyond"')
  })
  it('somebody who looks for rejected rows is shown what a retry would mark, and leaves it', async () => {
    await open('rows?state=rejected')
    await page.getByRole('button', { name: 'Retry rejected …' }).click()
    await page
      .getByRole('dialog')
      .getByText(/would be marked/)
      .waitFor()
    await page.getByRole('button', { name: 'Leave it' }).click()
    expect(await marked()).toBe(0)
  })
  it('marks them after the preview, under their own name', async () => {
    await page.getByRole('button', { name: 'Retry rejected …' }).click()
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await see(/\d rows? marked; the next run sends/)
    expect(await marked()).toBe(1)
  })
  it('finds what they did among the actions', async () => {
    await open('service')
    await table('Actions').getByText('Ann (console)').first().waitFor()
  })
  it('somebody who looks for rejected rows is shown what a resend of one hotel would mark', async () => {
    await open('rows?state=rejected&hotel=H-0001')
    await page.getByRole('button', { name: 'Resend accepted …' }).click()
    await page
      .getByRole('dialog')
      .getByText(/would be marked/)
      .waitFor()
    await page.getByRole('button', { name: 'Leave it' }).click()
  })
})

async function marked(): Promise<number> {
  const { rows } = await api.world.pool.query(`select from action where verb = 'retry' and acted_by = 'Ann (console)'`)
  return rows.length
}

describe('somebody who is asked about a hotel', () => {
  it('finds it by its id', async () => {
    await page.goto(`${api.url}/console/hotel`)
    await page.getByRole('searchbox').fill('H-0005')
    await page.getByRole('searchbox').press('Enter')
    await see('Rows accepted')
  }, 40_000)
  it('sees what happened to it, newest first', async () => see('the last search ended'))
  it('sees its inputs as they were sent, beside what came back', async () => {
    await table('Inputs').getByText('the same').first().waitFor()
  })
  it('sees a value over the months, this year over last', async () => {
    await page
      .getByRole('img', { name: /by month/ })
      .locator('canvas')
      .waitFor()
    expect(await page.getByLabel('Variable').inputValue()).not.toBe('')
  })
  it('chooses another variable, and the address says so', async () => {
    await page.getByLabel('Variable').selectOption({ label: 'Electricity (input)' })
    await page.waitForURL(/series=input/)
  })
  it('somebody who is asked about a hotel is told of an id that nobody has, and what was meant', async () => {
    await page.goto(`${api.url}/console/hotel?id=H-00051`)
    await see(/Nothing was ever read of a hotel/)
    forgive(/404/)
  })
  it('reads a name that would be a script as a name', async () => {
    await open('hotel?id=H-9991')
    await see(script)
    expect(await page.title()).toBe('Hotel H-9991 · Nightferry')
    expect(await page.locator('main img').count()).toBe(0)
  })
  it('reads a name from right to left without turning what is around it', async () => {
    await open('hotel?id=H-9992')
    const name = page.locator('bdi[dir=auto]', { hasText: 'فندق' }).first()
    await name.waitFor()
    const turned = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main bdi')].filter((of) => of.matches(':dir(rtl)')).map((of) => of.textContent)`,
    )
    expect(turned.join()).toContain('فندق')
    expect(await page.evaluate<boolean>(`document.querySelector('main').matches(':dir(ltr)')`)).toBe(true)
  })
})

describe('somebody who compares', () => {
  it('puts the night before beside a night', async () => {
    await open('night?run=2')
    await page.getByRole('link', { name: 'Beside the night before' }).click()
    await see('Run 1 of nightly-sync')
    await expect.poll(() => page.getByRole('img', { name: /on a time line of/ }).count()).toBe(2)
  })
  it('reads which request released which', async () => {
    await open('night?run=1')
    await page
      .getByRole('region', { name: /^Requests from/ })
      .getByText(/^1 \(\d+ rows?\)/)
      .first()
      .waitFor()
  })
  it('reads sums that are those of the report', async () => {
    const { report } = await api.json<{ report: { streams: { read: number }[] } }>('/v1/runs/1')
    const read = report.streams.reduce((sum, { read: rows }) => sum + rows, 0)
    const shown = await table('Streams of run 1').getByRole('row').last().getByRole('cell').nth(1).textContent()
    expect(shown).toBe(read.toLocaleString('en-US'))
  })
  it('sees the distribution of a value over all hotels', async () => {
    await open('values')
    await page.getByRole('img', { name: /bars from/ }).waitFor()
  })
  it('reads the highest value exactly as the service wrote it', async () => {
    const { rows } = await api.world.pool.query<{ value: string }>(
      `select value from calculator_values where variable_name = 'Total (kg CO2e)' and direction = 'output'
       and period_month is null and period_year = (select max(period_year) from calculator_values where period_month is null)
       order by value_numeric desc limit 1`,
    )
    expect(await table('Highest values').getByRole('row').nth(1).getByRole('cell').nth(2).textContent()).toBe(
      rows[0]?.value,
    )
  })
  it('runs the query that stands behind the picture', async () => {
    const query = (await page.locator('pre').textContent()) ?? ''
    const { rows } = await api.world.pool.query<{ value: string }>(query)
    expect(rows[0]?.value).toBe(
      await table('Highest values').getByRole('row').nth(1).getByRole('cell').nth(2).textContent(),
    )
  })
  it('goes from a value to its hotel', async () => {
    await table('Highest values').getByRole('link').first().click()
    await page.waitForURL(/hotel\?id=H-/)
  })
})

describe('somebody who acts', () => {
  it('works out what a run would send', async () => {
    await open('plan')
    await page.getByRole('button', { name: 'Work out what a run would send now' }).click()
    await see(/What a run would send, as of/)
    await table('Planned rows').waitFor()
  })
  it('starts a run after the question, and sees it at work or done', async () => {
    await page.getByRole('button', { name: 'Start a run …' }).click()
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await see(/Run 3 has begun/)
    await page.getByRole('link', { name: /^Tonight/ }).click()
    await page
      .getByRole('link', { name: /^Run 3,/ })
      .first()
      .waitFor({ timeout: 60_000 })
  })
  it('has the doctor look', async () => {
    await open('doctor')
    await page.getByRole('button', { name: 'Examine now' }).click()
    await table('Findings').waitFor({ timeout: 60_000 })
  }, 90_000)
  it('finds a setting, and where it comes from, and no secret', async () => {
    await page.getByLabel('Find', { exact: true }).fill('http.token')
    await page.getByLabel('Find', { exact: true }).press('Enter')
    await table('Settings').getByText('NIGHTFERRY_HTTP_TOKEN').waitFor()
    expect(await page.content()).not.toContain(tokens.act)
  })
  it('somebody who acts is told that a page is none', async () => {
    await page.goto(`${api.url}/console/nowhere`)
    await see('No such page')
  })
})

describe('by keyboard alone', () => {
  it('goes to a page by two keys', async () => {
    await open('')
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.waitForURL(/\/rows/)
  })
  it('skips to the content with the first stop', async () => {
    await open('')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate<string>('document.activeElement?.id')).toBe('content')
  })
  it('finds a hotel from anywhere', async () => {
    await open('')
    await page.keyboard.press('g')
    await page.keyboard.press('h')
    await page.waitForURL(/\/hotel/)
    await page.getByRole('searchbox').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('H-0001')
    await page.keyboard.press('Enter')
    await page.waitForURL(/id=H-0001/)
  })
  it('closes a question with Escape, and is where it was', async () => {
    await open('rows?state=rejected')
    const button = page.getByRole('button', { name: 'Retry rejected …' })
    await button.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate<string>('document.activeElement?.textContent')).toBe('Retry rejected …')
  })
  it('chooses another state of rows by Tab and Enter', async () => {
    await open('rows?state=rejected')
    await page.getByRole('link', { name: 'rejected', exact: true }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(/state=invalid/)
  })
})

describe('who comes in', () => {
  it('somebody who comes in is asked for a token, and told if it is wrong', async () => {
    const strange = await watchedContext(browser)
    const door = await strange.newPage()
    await door.goto(`${api.url}/console/rows?state=parked`)
    await door.getByLabel('Token').fill('a-token-that-is-wrong')
    await door.getByRole('button', { name: 'Sign in' }).click()
    await door.getByText('This is no token of').waitFor()
    await door.getByLabel('Token').fill(tokens.read)
    await door.getByRole('button', { name: 'Sign in' }).click()
    await door.getByRole('region', { name: 'Rows parked' }).waitFor()
    expect(await door.getByRole('button', { name: 'Retry rejected …' }).count()).toBe(0)
    expect(await door.evaluate<string>('document.cookie')).toBe('')
    await door.getByRole('button', { name: 'Sign out' }).click()
    await door.getByLabel('Token').waitFor()
    expect(strange.errors().filter((one) => !one.includes('401'))).toEqual([])
    expect(strange.refusals()).toEqual([])
    await strange.context.close()
  })
  it('cannot use a link twice', async () => {
    const address = await linkOf(api, tokens.act)
    const first = await watchedContext(browser)
    const early = await first.newPage()
    await early.goto(address)
    await early.getByRole('navigation', { name: 'Pages' }).waitFor()
    const second = await watchedContext(browser)
    const late = await second.newPage()
    await late.goto(address)
    await late.getByText(/The link was used already/).waitFor()
    expect(first.errors()).toEqual([])
    expect(second.errors().filter((one) => !one.includes('401'))).toEqual([])
    await first.context.close()
    await second.context.close()
  })
})

describe('while nobody answers', () => {
  it('keeps what it knows, says how old that is, and goes on by itself', async () => {
    await open('')
    await context.setOffline(true)
    await see(/This computer is offline\. What you see is .* old/)
    expect(await page.locator('.sentence').count()).toBe(1)
    await context.setOffline(false)
    await page.getByText(/is offline/).waitFor({ state: 'detached' })
    forgive(/Failed to load resource/)
  })
  it('says that the daemon does not answer where the computer is online, and goes on by itself', async () => {
    await open('')
    await context.route('**/v1/**', (route) => route.abort('connectionrefused'))
    await see(/Nightferry does not answer\. What you see is .* old/)
    expect(await page.locator('.sentence').count()).toBe(1)
    await context.unroute('**/v1/**')
    await page.getByText(/does not answer/).waitFor({ state: 'detached' })
    forgive(/Failed to load resource/)
  })
  it('goes on after the sessions to the database were ended', async () => {
    await open('')
    await api.world.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'nightferry http' and datname = current_database()`,
    )
    const asOf = async () => /as of ([\d-]+ [\d:]+)/.exec((await page.locator('[data-age]').textContent()) ?? '')?.[1]
    const before = await asOf()
    expect(before).toMatch(/:/)
    // Twice, because an answer may have been on its way already.
    for (const seen of [before, undefined]) {
      const last = seen ?? (await asOf())
      await expect.poll(asOf).not.toBe(last)
    }
    expect(await page.locator('.sentence').count()).toBe(1)
    await page.getByText(/cannot be worked with/).waitFor({ state: 'detached', timeout: 60_000 })
    forgive(/Failed to load resource/)
  })
})
