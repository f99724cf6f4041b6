import type { Browser, Page, Response } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { httpServer } from '../exchange/fault-server.ts'
import { canaries } from '../helpers/canaries.ts'
import { some } from '../helpers/some.ts'
import { type Served, tokens } from '../http/served.ts'
import { startChromium } from './chromium.ts'
import { hostileText, nights, strangers, troubledWorld } from './troubled-night.ts'
import { linkOf, type Visit, visit, type Watched, watchedContext } from './watched-browser.ts'

/** Another name of this machine, as an attacker's DNS would give it. */
const rebound = 'rebound.example'

let api: Served
let browser: Browser
let here: Visit
let page: Page
/** Another site, on a port of its own: any path answers with the page that was put there. */
let elsewhere: Awaited<ReturnType<typeof httpServer>>
let theirPage = ''

beforeAll(async () => {
  browser = await startChromium([`--host-resolver-rules=MAP ${rebound} 127.0.0.1`])
  elsewhere = await httpServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    return response.end(`<!doctype html><title>another site</title><body>${theirPage}</body>`)
  })
  api = await troubledWorld()
  // The last night is held, and what waits names the guard unless it waits for something that was rejected.
  const rejected = await api.world.pool.query(
    `update acceptance set outcome = 'rejected', refused_hash = desired_hash from source_row
     where source_row.row_id = acceptance.row_id and stream = 'properties' and outcome_code = 'task_error'`,
  )
  expect(rejected.rowCount).toBe(Object.keys(strangers).length)
  here = await visit(api, await watchedContext(browser))
  page = here.page
})
afterAll(async () => {
  await browser?.close()
  await elsewhere?.[Symbol.asyncDispose]()
  await api?.[Symbol.asyncDispose]()
})
afterEach(() => {
  expect(here.errors()).toEqual([])
  expect(here.refusals()).toEqual([])
})

const everyPage = ['', 'night', 'rows', 'hotel?id=H-0008', 'values', 'plan', 'service', 'doctor']

describe('the watch over the Content-Security-Policy', () => {
  const tries: [string, string, string][] = [
    [
      'an image of another host',
      'img-src',
      `document.body.append(Object.assign(new Image(), { src: '//a.example/x' }))`,
    ],
    ['a script in the page', 'script-src-elem', `import('https://a.example/x.js').catch(() => {})`],
    ['markup made of text', 'require-trusted-types-for', `try { document.body.innerHTML = '<b>' } catch {}`],
    ['an answer of another host', 'connect-src', `fetch('https://a.example/').catch(() => {})`],
    [
      'a style in the page',
      'style-src-elem',
      `document.head.append(Object.assign(document.createElement('style'), { textContent: 'b{}' }))`,
    ],
    [
      'a frame',
      'frame-src',
      `document.body.append(Object.assign(document.createElement('iframe'), { src: 'https://a.example/' }))`,
    ],
  ]
  it.each(tries)('counts %s', async (_what, directive, script) => {
    const watched = await watchedContext(browser)
    const guest = await visit(api, watched)
    expect([...watched.refusals(), ...watched.errors()]).toEqual([])
    await guest.page.evaluate(script)
    const refused: string[] = []
    await expect
      .poll(() => {
        refused.push(...watched.refusals())
        return refused.join('\n')
      })
      .toContain(directive)
    await watched.context.close()
  })
})

describe('what would be a script in', () => {
  it.each([
    ['the name of a hotel', 'hotel?id=H-9991'],
    ['a reason of the service for a refusal', 'rows?state=rejected'],
    ['what parked rows wait for', 'rows?state=parked'],
    ['the causes of the night', ''],
    ['what a run failed over', `night?run=${nights.tasksInError}`],
    ['the error of a task', 'service'],
    ['a document', 'hotel?id=H-0008'],
  ])('%s is text and nothing else', async (_what, path) => {
    await here.open(path)
    await here.settled()
    for (const summary of await page.locator('main td details > summary').all()) await summary.click()
    await page.getByText(hostileText.slice(0, 30)).first().waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.title()).toMatch(/ · Nightferry$/)
  })

  it('no link of any page leads out of the console', async () => {
    for (const path of everyPage) {
      await here.open(path)
      await here.settled()
      const hrefs = await page.evaluate<string[]>(`[...document.querySelectorAll('a')].map((link) => link.href)`)
      for (const href of some(hrefs)) expect(href.startsWith(`${api.url}/console/`), `${path}: ${href}`).toBe(true)
    }
  })
})

/** Opens a page of another site in the window of somebody who is signed in. */
async function visitElsewhere(body: string): Promise<Watched & { page: Page }> {
  theirPage = body
  const watched = await watchedContext(browser)
  await visit(api, watched)
  const their = await watched.newPage()
  await their.goto(elsewhere.url)
  return { ...watched, page: their }
}

async function pauses(): Promise<number> {
  return (await api.world.pool.query(`select from action where verb = 'pause'`)).rows.length
}

describe('another site, in the browser of somebody who is signed in,', () => {
  it('shows no page of the console in a frame', async () => {
    const { page: their, context, errors } = await visitElsewhere(`<iframe src="${api.url}/console/"></iframe>`)
    await expect.poll(() => errors().join('\n')).toMatch(/frame-ancestors 'none'|refused to connect/i)
    const frame = their.frames()[1]
    expect(await frame?.evaluate<string>('document.body?.textContent ?? ""').catch(() => '')).not.toContain('Tonight')
    expect(await their.frameLocator('iframe').getByRole('navigation', { name: 'Pages' }).count()).toBe(0)
    await context.close()
  })
  it.each([
    [
      'a form',
      `<form method="post" enctype="text/plain" action="URL"><input name='{"reason":"' value='x"}'></form><script>document.forms[0].submit()</script>`,
    ],
    [
      'a script',
      `<script>fetch('URL', { method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'content-type': 'text/plain' }, body: '{}' })</script>`,
    ],
    [
      'a script that asks first',
      `<script>fetch('URL', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json', 'x-nightferry-console': '1' }, body: '{}' })</script>`,
    ],
    ['a beacon', `<script>navigator.sendBeacon('URL', new Blob(['{}'], { type: 'text/plain' }))</script>`],
  ])('pauses no job by %s', async (_what, body) => {
    const url = `${api.url}/v1/jobs/nightly-sync/pause`
    const { page: their, context } = await visitElsewhere('')
    const asked = context.waitForEvent('response', (answer) => answer.url() === url)
    const failed = context.waitForEvent('requestfailed', (request) => request.url() === url)
    theirPage = body.replaceAll('URL', url)
    await their.reload().catch(() => null)
    const outcome = await Promise.any([asked, failed])
    if ('status' in outcome) expect(outcome.status()).toBeGreaterThanOrEqual(400)
    expect(await pauses()).toBe(0)
    await context.close()
  })
  it('reads no answer, though the browser sends the cookie to every port', async () => {
    const { page: their, context } = await visitElsewhere('')
    const read = await their.evaluate<string>(
      `fetch('${api.url}/v1/tonight', { credentials: 'include' }).then((a) => a.text(), () => 'not read')`,
    )
    expect(read).toBe('not read')
    await context.close()
  })
  it('reaches no window of the console that it opens', async () => {
    const { page: their, context } = await visitElsewhere('')
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      their.evaluate(`void (globalThis.theirs = window.open('${api.url}/console/'))`),
    ])
    await opened.getByRole('navigation', { name: 'Pages' }).or(opened.getByLabel('Token')).first().waitFor()
    await expect.poll(() => their.evaluate<boolean>('globalThis.theirs.closed')).toBe(true)
    expect(opened.isClosed()).toBe(false)
    await context.close()
  })
})

it('a name that DNS leads to this machine later shows nothing of the console', async () => {
  const watched = await watchedContext(browser)
  const guest = await watched.newPage()
  const { port } = new URL(api.url)
  for (const path of ['/console/', '/console/session', '/v1/tonight', '/']) {
    const answer = await guest.goto(`http://${rebound}:${port}${path}`)
    expect(answer?.status(), path).toBe(421)
  }
  await watched.context.close()
})

describe('secrets', () => {
  it('the code of a link and the token stand in no address, no history and no storage', async () => {
    const watched = await watchedContext(browser)
    const guest = await watched.newPage()
    const asked: string[] = []
    watched.context.on('request', (request) => asked.push(`${request.url()} ${request.headers().referer ?? ''}`))
    const link = await linkOf(api, tokens.act)
    const code = link.split('#once=')[1] ?? ''
    await guest.goto(link)
    await guest.getByRole('navigation', { name: 'Pages' }).waitFor()
    expect(guest.url()).toBe(`${api.url}/console/`)
    await guest.getByRole('link', { name: /^Rows/ }).click()
    await guest.waitForURL(/rows/)
    await guest.goBack()
    expect(guest.url()).toBe(`${api.url}/console/`)
    const stored = await guest.evaluate<string>(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state])',
    )
    for (const text of some([stored, ...asked.map((one) => one.replace(/#.*/, ''))])) {
      expect(text).not.toContain(code)
      expect(text).not.toContain(tokens.act)
    }
    await watched.context.close()
  })
  it('a token in an address signs nobody in, also for the pages themselves', async () => {
    const watched = await watchedContext(browser)
    const guest = await watched.newPage()
    for (const query of [`?token=${tokens.act}`, `?once=${tokens.act}`, `#token=${tokens.act}`]) {
      await guest.goto(`${api.url}/console/${query}`)
      await guest.reload()
      await guest.getByLabel('Token').waitFor()
    }
    await watched.context.close()
  })
  it('what was answered is in no cache', async () => {
    const answers: Response[] = []
    const keep = (answer: Response) => answers.push(answer)
    page.on('response', keep)
    for (const path of everyPage) {
      await here.open(path)
      await here.settled()
    }
    page.off('response', keep)
    const data = answers.filter((answer) => !answer.url().includes('/console/') || answer.url().endsWith('/session'))
    expect(new Set(data.map((answer) => new URL(answer.url()).pathname)).size).toBeGreaterThan(10)
    for (const answer of data) expect(answer.headers()['cache-control'], answer.url()).toBe('no-store')
  })
  it('somebody who signed out cannot go back to what they saw', async () => {
    const watched = await watchedContext(browser)
    const guest = await visit(api, watched)
    await guest.open('hotel?id=H-0005')
    await guest.see('At the partner')
    await guest.open('rows')
    await guest.page.getByRole('button', { name: 'Sign out' }).click()
    await guest.page.getByLabel('Token').waitFor()
    for (let steps = 0; steps < 2; steps++) {
      await guest.page.goBack()
      await guest.page.getByLabel('Token').waitFor()
      expect(await guest.page.content()).not.toContain('At the partner')
      expect(await guest.page.content()).not.toContain('H-00')
    }
    expect(await watched.context.cookies()).toEqual([])
    await watched.context.close()
  })
  it('no page shows a secret of the configuration', async () => {
    const secrets = [tokens.act, tokens.read, ...Object.values(canaries)]
    for (const path of everyPage) {
      await here.open(path)
      await here.settled()
      const content = await page.content()
      for (const secret of some(secrets)) expect(content.includes(secret), path).toBe(false)
    }
  })
})

it.each([
  '/console//elsewhere.example/',
  '/console/?next=https://elsewhere.example/',
  '/console/https://elsewhere.example/',
  '/console/#//elsewhere.example/',
  '/console/javascript:document.title=1',
  '/console/%2f%2felsewhere.example',
])('the address %s leads nowhere else, signed in or not', async (path) => {
  await page.goto(`${api.url}${path}`)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  expect(new URL(page.url()).origin).toBe(new URL(api.url).origin)
  const watched = await watchedContext(browser)
  const guest = await watched.newPage()
  await guest.goto(`${api.url}${path}`)
  await guest.getByLabel('Token').fill(tokens.read)
  await guest.getByRole('button', { name: 'Sign in' }).click()
  await guest.getByRole('navigation', { name: 'Pages' }).waitFor()
  expect(new URL(guest.url()).origin).toBe(new URL(api.url).origin)
  await watched.context.close()
})
