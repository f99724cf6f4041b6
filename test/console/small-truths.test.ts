import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { GetTonightData } from '../../console/src/api-types.ts'
import { runToEnd, type Served, served } from '../http/served.ts'
import { startChromium } from './chromium.ts'
import { type Visit, visit, watchedContext } from './watched-browser.ts'

let api: Served
let browser: Browser
let here: Visit
let page: Page

beforeAll(async () => {
  browser = await startChromium()
  api = await served({ hotels: 2 })
  await runToEnd(api)
  here = await visit(api, await watchedContext(browser))
  page = here.page
})
afterAll(async () => {
  await browser?.close()
  await api?.[Symbol.asyncDispose]()
})
afterEach(async () => {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  expect(here.errors()).toEqual([])
  expect(here.refusals()).toEqual([])
})

/** Has the API answer otherwise than it does. */
async function answered<T>(path: RegExp, change: (answer: T) => object): Promise<void> {
  await page.route(path, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...change((await response.json()) as T) } })
  })
}

it('a night that the guard holds is not said to need nobody', async () => {
  await answered<GetTonightData>(/v1\/tonight/, (tonight) => ({
    ...tonight,
    causes: [],
    needs: [{ state: 'held', rows: 9, hotels: 9 }],
    held: [{ run_id: 41, stream: 'properties', reason: 'share', known: 10, new: 0, changed: 9, gone: 0 }],
  }))
  await here.open('')
  await here.see(/The guard stopped run 41/)
  await here.see('Nothing but what the guard holds until somebody approves it.')
  expect(await page.getByText('Every row of the partner is accepted').count()).toBe(0)
  await here.open('plan')
  await here.see('stopped run 41')
})
