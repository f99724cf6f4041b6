import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { runToEnd, type Served, served } from '../http/served.ts'
import { startChromium } from './chromium.ts'
import { type Visit, visit, watchedContext } from './watched-browser.ts'

type VisitedDemo = { api: Served; here: Visit; page: Page }

/**
 * The demo of two hotels after one night, in a browser that is signed in, for all stories of a file. No story leaves an
 * answer that it altered to the next one, and none may leave an error or a refusal of the browser.
 * @param visited told once, before the first story.
 */
export function visitedDemo(visited: (demo: VisitedDemo) => void): void {
  let browser: Browser | undefined
  let api: Served | undefined
  let here: Visit | undefined
  beforeAll(async () => {
    browser = await startChromium()
    api = await served({ hotels: 2 })
    await runToEnd(api)
    here = await visit(api, await watchedContext(browser))
    visited({ api, here, page: here.page })
  })
  afterAll(async () => {
    await browser?.close()
    await api?.[Symbol.asyncDispose]()
  })
  afterEach(async () => {
    await here?.page.unrouteAll({ behavior: 'ignoreErrors' })
    expect(here?.errors()).toEqual([])
    expect(here?.refusals()).toEqual([])
  })
}
