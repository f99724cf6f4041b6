import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { sealLinkRequest } from '../../src/http/console/console-door.ts'
import { type Served, tokens } from '../http/served.ts'

/** How long a page may take for a step; a machine may have other work. Milliseconds. */
const patienceMs = 60_000

/** A window of the browser whose pages are watched: each of their complaints is kept until somebody has read it. */
export type Watched = {
  context: BrowserContext
  newPage: () => Promise<Page>
  /** Errors on the console and of scripts, since they were last read. */
  errors: () => string[]
  /** What the Content-Security-Policy refused, as the browser reports it, since it was last read. */
  refusals: () => string[]
}

/** @param options those of Playwright. */
export async function watchedContext(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext(options)
  let errors: string[] = []
  let refusals: string[] = []
  await context.exposeBinding('nightferryPolicyRefused', (_source, words: string) => refusals.push(words))
  // Before any script of a page: what is refused while the page is read counts, too.
  await context.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    nightferryPolicyRefused([event.effectiveDirective, event.blockedURI, event.sample].join(' ')))`)
  return {
    context,
    newPage: async () => {
      const page = await context.newPage()
      page.setDefaultTimeout(patienceMs)
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('console', (message) => {
        const text = message.text()
        if (message.type() === 'error') errors.push(text)
        else if (/Content.Security.Policy|Trusted/i.test(text)) refusals.push(text)
      })
      return page
    },
    errors: () => {
      const heard = errors
      errors = []
      return heard
    },
    refusals: () => {
      const heard = refusals
      refusals = []
      return heard
    },
  }
}

/** A page of somebody who is signed in, and the steps that all stories share. */
export type Visit = Watched & {
  page: Page
  /** Goes to a page of the console, and waits until it shows data. */
  open: (path: string) => Promise<void>
  table: (name: string | RegExp) => Locator
  /** Waits until a text is seen. */
  see: (text: string | RegExp) => Promise<void>
  /** Waits until no part of the page waits for an answer. */
  settled: () => Promise<void>
}

export async function visit(api: Pick<Served, 'url'>, watched: Watched, token = tokens.act): Promise<Visit> {
  const page = await watched.newPage()
  await signIn(api, page, token)
  return {
    ...watched,
    page,
    open: async (path) => {
      await page.goto(`${api.url}/console/${path}`)
      await page.locator('[data-age]').filter({ hasText: 'as of' }).waitFor()
    },
    table: (name) => page.getByRole('region', { name, exact: true }),
    see: (text) => page.getByText(text).first().waitFor(),
    settled: async () => {
      await expect.poll(() => page.getByText(/^Reading …$|is computing this/).count()).toBe(0)
    },
  }
}

/** Has the API answer a page otherwise than it does. */
export async function answered<T>(page: Page, path: RegExp, change: (answer: T) => object): Promise<void> {
  await page.route(path, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...change((await response.json()) as T) } })
  })
}

/** One of the facts of a page, by its name. */
export const factOf = (page: Page, name: string): Locator =>
  page.locator('.facts > div', { has: page.getByText(name, { exact: true }) })

/** The address that signs in once, as `nightferry console` prints it. */
export async function linkOf({ url }: Pick<Served, 'url'>, token: string): Promise<string> {
  const address = new URL('/console/links', url)
  const { nonce } = (await (await fetch(address)).json()) as { nonce: string }
  const known = token === tokens.act ? { token, readToken: null } : { token: null, readToken: token }
  const body = JSON.stringify({ asked: sealLinkRequest(nonce, 'Ann', known) })
  const answer = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return `${url}/console/#once=${((await answer.json()) as { once: string }).once}`
}

async function signIn(api: Pick<Served, 'url'>, page: Page, token: string): Promise<void> {
  await page.goto(await linkOf(api, token))
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}

/** A folder in which the screenshots of a world are kept. */
export function shotsOf(world: string): string {
  const folder = mkdtempSync(join(tmpdir(), `nightferry-console-${world}-`))
  process.stderr.write(`Screenshots of the ${world} world are in ${folder}\n`)
  return folder
}
