import type { Page, Request } from 'playwright-core'
import { expect, it } from 'vitest'
import type { GetTonightData } from '../../console/src/api-types.ts'
import type { Served } from '../http/served.ts'
import { visitedDemo } from './visited-demo.ts'
import { answered, type Visit } from './watched-browser.ts'

let api: Served
let here: Visit
let page: Page
visitedDemo((demo) => {
  ;({ api, here, page } = demo)
})

const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog')

/** Has the API mark three rows, and keeps what a page asked of it. @param until an answer waits for this. */
async function marks(
  verb: 'retry' | 'resend',
  of = page,
  until: () => Promise<unknown> = async () => {},
  more: object = {},
): Promise<object[]> {
  const asked: object[] = []
  await of.route(new RegExp(`v1/rows/${verb}`), async (route) => {
    asked.push(bodyOf(route.request()))
    await until()
    const streams = [{ stream: 'properties', rows: 3, suspended: 0, known: 9 }]
    await route.fulfill({ json: { total: 3, streams, rows: [], beyond_guard: [], ...more } })
  })
  return asked
}

const bodyOf = (request: Request) => request.postDataJSON() as object

async function narrowTo(label: string, text: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(text)
  await page.getByLabel(label, { exact: true }).press('Enter')
}

it('a retry marks what its preview showed, to the moment since when, however late it is confirmed', async () => {
  const later = await here.newPage()
  const asked = await marks('retry', later)
  await later.clock.install()
  await later.goto(`${api.url}/console/rows?state=rejected&days=1&stream=properties`)
  await later.getByRole('button', { name: 'Retry rejected …' }).click()
  await later.getByRole('dialog').getByText('Rows that were rejected, of properties, since').waitFor()
  const again = later.waitForResponse(/v1\/rows\?/)
  await later.clock.fastForward(90_000)
  await (await again).finished()
  await later.getByRole('button', { name: 'Retry', exact: true }).click()
  await later.getByText('3 rows marked; the next run sends them again, once.').waitFor()
  expect(asked[0]).toMatchObject({ stream: 'properties', all: false, dryRun: true })
  expect(asked.slice(1)).toEqual([{ ...asked[0], dryRun: false }])
  await later.close()
})

it('a preview is put away when the filter that it showed is left', async () => {
  const asked = await marks('retry')
  await here.open('rows?state=rejected')
  await narrowTo('Stream', 'properties')
  await page.waitForURL(/stream=properties/)
  await button('Retry rejected …').click()
  await dialog().waitFor()
  await page.goBack()
  await dialog().waitFor({ state: 'detached' })
  await page.goForward()
  await page.waitForURL(/stream=properties/)
  expect(await dialog().count()).toBe(0)
  expect(asked).toHaveLength(1)
})

it('a preview that comes when the filter is another already is not shown', async () => {
  const answer = Promise.withResolvers<void>()
  const asked = await marks('retry', page, () => answer.promise)
  await here.open('rows?state=rejected&hotel=H-0001')
  await button('Retry rejected …').click()
  await expect.poll(() => asked.length).toBe(1)
  await narrowTo('Hotel', 'H-0002')
  await page.waitForURL(/hotel=H-0002/)
  const came = page.waitForResponse(/v1\/rows\/retry/)
  answer.resolve()
  await (await came).finished()
  await expect.poll(() => button('Retry rejected …').isEnabled()).toBe(true)
  expect(await dialog().count()).toBe(0)
})

it('a second click on Retry asks nothing, and the words of the first stay', async () => {
  const answer = Promise.withResolvers<void>()
  let first = true
  const asked = await marks('retry', page, async () => {
    if (!first) await answer.promise
    first = false
  })
  await here.open('rows?state=rejected')
  await button('Retry rejected …').click()
  await button('Retry').dblclick({ noWaitAfter: true })
  await expect.poll(() => button('Retry').isDisabled()).toBe(true)
  answer.resolve()
  await here.see('3 rows marked; the next run sends them again, once.')
  expect(asked).toHaveLength(2)
})

it('a resend of rows of which a reason alone is said means all accepted ones, in the preview and in the answer', async () => {
  const asked = await marks('resend')
  await here.open('rows?state=rejected&reason=nobody')
  await button('Resend accepted …').click()
  await dialog().getByText('of every hotel and stream').waitFor()
  await button('Resend').click()
  await here.see('3 rows marked; the next run sends them again, once.')
  expect(asked).toEqual([
    { all: true, dryRun: true },
    { all: true, dryRun: false },
  ])
})

it('a resend says in its preview what becomes of rows that changed since they were accepted', async () => {
  await marks('resend', page, undefined, { changed: 2, unconfigured: 4 })
  await here.open('rows?state=rejected')
  await button('Resend accepted …').click()
  await dialog().getByText('2 of them have changed since they were accepted, or the guard holds them').waitFor()
  await dialog().getByText('4 more rows of streams that are not in the configuration').waitFor()
  await button('Leave it').click()
})

it('a retry says in its preview and in its answer how many rows wait because their hotel is suspended', async () => {
  await marks('retry', page, undefined, { streams: [{ stream: 'properties', rows: 3, suspended: 1 }] })
  await here.open('rows?state=rejected')
  await button('Retry rejected …').click()
  const words = 'the next run sends 2 of them again, once; 1 row of suspended hotels waits until these are resumed.'
  await dialog().getByText(`3 rows would be marked; ${words}`).waitFor()
  await button('Retry').click()
  await here.see(`3 rows marked; ${words}`)
})

it('an approval that is refused closes its question, and says why where the person is', async () => {
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({
    ...tonight,
    held: [{ run_id: 41, stream: 'properties', reason: 'share', known: 10, new: 0, changed: 9, gone: 0 }],
  }))
  const answer = Promise.withResolvers<void>()
  const asked: object[] = []
  await page.route(/v1\/runs\/41\/approve/, async (route) => {
    const body = bodyOf(route.request()) as { dryRun: boolean }
    asked.push(body)
    if (body.dryRun) return await route.fulfill({ json: { plans: [] } })
    await answer.promise
    const detail = 'Run 42 is under way; ask again when it has ended.'
    await route.fulfill({ status: 409, json: { code: 'run_under_way', detail } })
  })
  await here.open('')
  await button('Approve …').click()
  await button('Approve').dblclick({ noWaitAfter: true })
  await expect.poll(() => button('Approve').isDisabled()).toBe(true)
  answer.resolve()
  await page.getByRole('alert').filter({ hasText: 'Run 42 is under way' }).waitFor()
  expect(await dialog().count()).toBe(0)
  expect(asked).toEqual([{ dryRun: true }, { dryRun: false }])
  expect(here.errors().every((words) => words.includes('409'))).toBe(true)
})

it('a stream without any row at the partner is said to have none, and its approval to mark rows gone at once', async () => {
  const held = { run_id: 41, stream: 'properties', reason: 'empty', known: 200, new: 0, changed: 0, gone: 200 }
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({ ...tonight, held: [held] }))
  await page.route(/v1\/runs\/41\/approve/, (route) => route.fulfill({ json: { plans: [] } }))
  await here.open('')
  await here.see(/The guard stopped run 41: the partner’s database has no row of properties, where 200 are known\./)
  await button('Approve …').click()
  await dialog().getByText('200 rows are marked as gone at the partner at once').waitFor()
  expect(
    await dialog()
      .getByText(/The next run/)
      .count(),
  ).toBe(0)
  await button('Leave it held').click()
})

it('an approval says how many rows the next run sends, beside those that it marks as gone', async () => {
  const held = { run_id: 41, stream: 'properties', reason: 'share', known: 10, new: 2, changed: 7, gone: 1 }
  await answered<GetTonightData>(page, /v1\/tonight/, (tonight) => ({ ...tonight, held: [held] }))
  await page.route(/v1\/runs\/41\/approve/, (route) => route.fulfill({ json: { plans: [] } }))
  await here.open('')
  await button('Approve …').click()
  await dialog().getByText('The next run then sends 9 rows. 1 row is marked as gone at the partner at once').waitFor()
  await button('Leave it held').click()
})

it('a session that ends while somebody examines the configuration leads to the door', async () => {
  await here.open('doctor')
  const cookies = await here.context.cookies()
  await here.context.clearCookies()
  await button('Examine now').click()
  await page.getByLabel('Token').waitFor()
  expect(here.errors().every((words) => words.includes('401'))).toBe(true)
  await here.context.addCookies(cookies)
})

it('a person suspends a hotel with a reason, and resumes it, on its page', async () => {
  await here.open('hotel?id=H-0001')
  await button('Suspend …').click()
  expect(await dialog().getByRole('button', { name: 'Suspend' }).isDisabled()).toBe(true)
  await dialog().getByLabel('Why').fill('sold in spring')
  await dialog().getByRole('button', { name: 'Suspend' }).click()
  await here.see(/^Nothing of it is sent: it is suspended since .*: sold in spring\.$/)
  const { rows } = await api.world.pool.query('select partner_id, reason from suspended_hotel')
  expect(rows).toEqual([{ partner_id: 'H-0001', reason: 'sold in spring' }])
  await button('Resume with the next run').click()
  await here.see(/^It was suspended\. .* resumed it .*: the next run sends what is pending of it\.$/)
  await button('Suspend …').waitFor()
  await api.world.pool.query('delete from suspended_hotel')
})
