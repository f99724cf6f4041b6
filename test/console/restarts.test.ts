import { randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { locationOf } from '../../src/embedded/initialise-data.ts'
import { type Cluster, openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { type Running, start } from '../cli/nightferry-process.ts'
import { unusedPort } from '../exchange/fault-server.ts'
import { dataFolder } from '../helpers/data-folder.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { fastSettings } from '../helpers/test-cluster.ts'
import { demoConfig } from '../helpers/world.ts'
import { posted, type Served, served, tokens } from '../http/served.ts'
import { startChromium } from './chromium.ts'
import { type Visit, visit, watchedContext } from './watched-browser.ts'

const hourMs = 3_600_000
const preload = fileURLToPath(new URL('../helpers/shifted-clock.ts', import.meta.url))

const browser = await ofThisFile(startChromium())

/** A mark that a page loses when it is loaded again. */
const mark = (page: Page) => page.evaluate(`globalThis.staysOpen = 'the same page'`)
const expectSamePage = async (page: Page) =>
  expect(await page.evaluate<string | undefined>('globalThis.staysOpen')).toBe('the same page')

const age = (page: Page) => page.locator('[data-age]').textContent()
/** The moment of the newest answer, which the page shows. */
const asOf = async (page: Page) => /as of ([\d-]+ [\d:]+)/.exec((await age(page)) ?? '')?.[1] ?? ''
const nightOf = (page: Page, run: number | RegExp, words = '') =>
  page.getByRole('link', { name: new RegExp(`^Run ${typeof run === 'number' ? run : run.source}, .*${words}`) }).first()

/** A run of this number or one of the next: where one begins each minute, the page may show a later one. */
const fromRun = (first: number) => new RegExp(`(${Array.from({ length: 20 }, (_, at) => first + at).join('|')})`)

/** Waits until a page says how old its data are, and that they get older. */
async function expectAging(page: Page): Promise<void> {
  const old = async () => {
    const text = (await page.locator('.notice').first().textContent()) ?? ''
    const [, number, unit] = /What you see is (\d+) (s|min) old/.exec(text) ?? []
    return number === undefined ? -1 : Number(number) * (unit === 'min' ? 60 : 1)
  }
  await expect.poll(old).toBeGreaterThanOrEqual(0)
  const first = await old()
  await expect.poll(old).toBeGreaterThan(first)
}

describe('while the daemon or the database is away', () => {
  let folder: string
  let cluster: Cluster
  let api: Served
  let daemon: Running
  let environment: Record<string, string>
  let here: Visit

  beforeAll(async () => {
    folder = join(dataFolder(), `nightferry-console-restarts-${randomBytes(4).toString('hex')}`)
    cluster = await openCluster({ folder, onNotice: () => {}, settings: fastSettings })
    await cluster.ensureDatabase('own')
    const port = String(await unusedPort())
    api = await served({ hotels: 5 }, (world) => {
      environment = {
        ...world.environment(),
        DATABASE_URL: cluster.url('own'),
        NIGHTFERRY_HTTP_PORT: port,
        NIGHTFERRY_HTTP_TOKEN: tokens.act,
      }
      return Promise.resolve(environment)
    })
    daemon = api.daemon
    await nextRun(1)
    here = await visit(api, await watchedContext(browser))
  })
  afterAll(async () => {
    daemon?.child.kill('SIGTERM')
    await daemon?.ended
    await api?.[Symbol.asyncDispose]()
    await cluster?.release()
    for (const gone of [await home(), folder]) await rm(gone, { recursive: true, force: true })
  })

  /** Starts a night and waits for its end, by the API. */
  async function nextRun(run: number): Promise<void> {
    expect(await api.json('/v1/jobs/nightly-sync/runs', posted({}), 202)).toMatchObject({ run })
    await vi.waitFor(async () => expect(await api.json(`/v1/runs/${run}`)).toMatchObject({ state: 'finished' }), {
      timeout: 150_000,
      interval: 100,
    })
  }

  async function endDaemon(signal: NodeJS.Signals): Promise<void> {
    daemon.child.kill(signal)
    await daemon.ended
  }

  async function startDaemon(): Promise<void> {
    daemon = start(api.folder, ['serve', '--config', demoConfig], environment)
    await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), { timeout: 120_000, interval: 50 })
  }

  /** Opens a page beside the others. */
  async function opened(path: string): Promise<Page> {
    const page = await here.newPage()
    await page.goto(`${api.url}/console/${path}`)
    await page.locator('[data-age]').filter({ hasText: 'as of' }).waitFor()
    await mark(page)
    return page
  }

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'pages that stay open carry on by themselves when the daemon ends by %s and is started again, and say meanwhile how old their data are',
    async (signal) => {
      const pages = await Promise.all(['', 'rows?state=rejected', 'service'].map(opened))
      const before = await Promise.all(pages.map(asOf))
      await endDaemon(signal)
      for (const page of pages) {
        await page.getByText(/Nightferry does not answer\. What you see is/).waitFor()
        await expectAging(page)
        expect(await page.locator('.panel').count()).toBeGreaterThan(0)
      }
      await startDaemon()
      for (const [index, page] of pages.entries()) {
        await expect.poll(() => page.getByText(/does not answer/).count()).toBe(0)
        await expect.poll(() => asOf(page)).not.toBe(before[index])
        await expectSamePage(page)
        await page.close()
      }
      expect(here.refusals()).toEqual([])
      expect(here.errors().filter((one) => !one.includes('Failed to load resource'))).toEqual([])
    },
  )

  it('a page leads to another while the daemon is away, which shows itself when the daemon is back', async () => {
    const page = await opened('')
    await endDaemon('SIGTERM')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Plan/ }).click()
    await page.getByText('Nightferry does not answer. The page tries again by itself.').waitFor()
    expect(page.url()).toBe(`${api.url}/console/plan`)
    await startDaemon()
    await page.getByRole('heading', { name: 'Plan', level: 1 }).waitFor()
    await page.locator('[data-age]').filter({ hasText: 'as of' }).waitFor()
    await page.close()
    expect(here.refusals()).toEqual([])
    here.errors()
  })

  it('a page that stays open, and one that is loaded while the database is away, show what it knows when it is back', async () => {
    const page = await opened('')
    const before = await asOf(page)
    await stopServer()
    await page.getByText(/database.*What you see is \d+ (s|min) old/).waitFor()
    await expectAging(page)
    const late = await here.newPage()
    await late.goto(`${api.url}/console/rows`)
    await late
      .getByText(/Nothing to show yet\./)
      .first()
      .waitFor()
    expect(await cluster.ensureRunning()).toBe(true)
    for (const one of [page, late]) {
      await expect.poll(() => one.getByText(/Nothing to show yet|What you see is/).count()).toBe(0)
      await one.locator('[data-age]').filter({ hasText: 'as of' }).waitFor()
    }
    await expect.poll(() => asOf(page)).not.toBe(before)
    await expectSamePage(page)
    // The daemon works again, and what it does is seen without loading the page again.
    await nextRun(2)
    await nightOf(page, 2, 'succeeded').waitFor()
    await expectSamePage(page)
    await page.close()
    await late.close()
    expect(here.refusals()).toEqual([])
    expect(here.errors().filter((one) => !/Failed to load resource/.test(one))).toEqual([])
  })

  /** Where the server keeps its data, if it may not enter the folder. */
  const home = async () => (await locationOf(folder)) ?? folder

  /** Ends the server as its own stop does: no new sessions, and those that there are end. */
  async function stopServer(): Promise<void> {
    const { pid } = (await runningPostmaster(join(await home(), 'data'))) ?? {}
    if (pid === undefined) throw new Error('no server runs')
    process.kill(pid, 'SIGINT')
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 60_000, interval: 20 })
  }
})

it('over a night, a page that stays open shows the run that the schedule starts, and its session outlasts twelve hours', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-console-night-'))
  const file = join(folder, 'shift')
  const shift = async (hours: number) => {
    await writeFile(`${file}.new`, String(hours * hourMs))
    await rename(`${file}.new`, file)
  }
  await shift(0)
  await using api = await served(
    { hotels: 3 },
    {
      NODE_OPTIONS: `--import=${preload}`,
      CLOCK_SHIFT_FILE: file,
      // The database's clock decides when a run is due, and nobody sets that: a night begins with the next minute.
      NIGHTFERRY_JOBS_NIGHTLY_SYNC_SCHEDULE: '* * * * *',
    },
  )
  const watched = await watchedContext(browser)
  await watched.context.clock.install()
  const { page, context, errors, refusals } = await visit(api, watched)
  await api.json('/v1/jobs/nightly-sync/runs', posted({}), 202)
  await nightOf(page, fromRun(1), '(succeeded|partial)').waitFor({ timeout: 150_000 })
  await mark(page)
  const cookies = await context.cookies()
  const evening = Object.fromEntries(cookies.map(({ name, value }) => ['cookie', `${name}=${value}`]))
  const asked = () => fetch(new URL('/v1/nights', api.url), { headers: evening })
  expect((await asked()).status).toBe(200)
  const before = await asOf(page)
  const { rows: lastRun } = await api.world.pool.query<{ run: number }>('select max(run_id)::integer as run from run')
  for (let hour = 1; hour <= 14; hour++) {
    await shift(hour)
    const renewed = page.waitForResponse((answer) => answer.url().endsWith('/console/session'))
    await page.clock.fastForward(hourMs)
    expect((await renewed).status(), `after ${hour} hours`).toBe(200)
  }
  // Long enough: a session that no page renewed is over.
  expect((await asked()).status).toBe(401)
  await expect.poll(() => asOf(page)).not.toBe(before)
  await nightOf(page, fromRun((lastRun[0]?.run ?? 0) + 1)).waitFor({ timeout: 150_000 })
  await expectSamePage(page)
  expect(errors()).toEqual([])
  expect(refusals()).toEqual([])
  await context.close()
  await rm(folder, { recursive: true })
})
