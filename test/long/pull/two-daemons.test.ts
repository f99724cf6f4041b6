import { expect, test, vi } from 'vitest'
import { nightferry, start } from '../../cli/nightferry-process.ts'
import {
  downloads,
  type PullWorld,
  type Sample,
  sampleColumns,
  startPullWorld,
  versionOf,
} from '../../helpers/pull-world.ts'

const pages = 20
/** Companies looked at while some of a search's pages were loaded and some were not. */
const samplesWanted = 10_000
const mostNights = 30

/** Looked at together, from pages far apart. */
const companiesAtOnce = 8
const step = 31

type Seen = {
  samples: number
  /** Looks that showed companies of the old version beside companies of the new one. */
  mixed: number
  torn: Sample[]
}

/** Looks at some companies after others, each look one statement, until told to end. */
async function readOn({ pool, companyIds }: PullWorld, seen: Seen, ended: AbortSignal): Promise<void> {
  for (let at = 0; !ended.aborted; at += companiesAtOnce) {
    const ids = Array.from(
      { length: companiesAtOnce },
      (_, next) => companyIds[((at + next) * step) % companyIds.length],
    )
    const { rows } = await pool.query<Sample & { loading: boolean }>(
      `select ${sampleColumns},
              (select bool_or(state = 'loaded') and bool_or(state = 'listed') from search_page
               where submission_id = (select max(submission_id) from submission)) as loading
       from companies c where company_id = any($1::uuid[])`,
      [ids],
    )
    const versions = new Set<number>()
    for (const { loading, ...sample } of rows) {
      if (!loading) continue
      seen.samples += 1
      const version = versionOf(sample)
      if (version === null) seen.torn.push(sample)
      else versions.add(version)
    }
    if (versions.size === 2) seen.mixed += 1
  }
}

test('two daemons load a search of 20 pages, each page once, and no reader sees half a company', async () => {
  await using world = await startPullWorld({ pages, companiesPerPage: 12 })
  const daemon = start(world.folder, ['serve', ...world.options], world.environment)
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), { timeout: 60_000, interval: 50 })
  const seen: Seen = { samples: 0, mixed: 0, torn: [] }
  const ended = new AbortController()
  const readers = Array.from({ length: 3 }, () => readOn(world, seen, ended.signal))
  let night = 0
  try {
    for (; seen.samples < samplesWanted && night < mostNights; night++) {
      await world.write(() => night + 1)
      const run = await nightferry(world.folder, ['run', 'nightly-sync', '--json', ...world.options], world.environment)
      expect(run, run.stderr).toMatchObject({ code: 0 })
    }
  } finally {
    ended.abort()
    await Promise.all(readers)
  }
  daemon.child.kill('SIGTERM')
  const { stderr } = await daemon.ended
  expect(seen.torn).toEqual([])
  expect(seen.samples).toBeGreaterThanOrEqual(samplesWanted)
  // Readers that saw nothing but one version of everything would prove nothing.
  expect(seen.mixed).toBeGreaterThan(10)
  expect(await downloads(world.sandboxPool)).toEqual(Array.from({ length: night }, () => Array(pages).fill(1)))
  const byTheDaemon = stderr.split('page_loaded').length - 1
  expect(byTheDaemon).toBeGreaterThan(0)
  expect(byTheDaemon).toBeLessThan(night * pages)
}, 300_000)
