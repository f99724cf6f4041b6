import { expect, test, vi } from 'vitest'
import { createWarpedClock } from '../../../src/sandbox/clock.ts'
import { type Ended, nightferry, start } from '../../cli/nightferry-process.ts'
import {
  downloads,
  type PullWorld,
  type Sample,
  sampleColumns,
  startPullWorld,
  trouble,
  versionOf,
} from '../../helpers/pull-world.ts'

const size = { pages: 5, companiesPerPage: 4 }
const patience = { timeout: 60_000, interval: 20 }

/**
 * A night in whose search, while one of the pages cannot go on and those behind it are not begun, something happens.
 */
async function nightWith(world: PullWorld, happens: () => Promise<unknown>): Promise<Ended> {
  const holder = await world.pool.connect()
  // A page that failed comes again at once: nobody waits for a back-off here.
  const hurry = setInterval(() => {
    void world.pool
      .query(`update nightferry_queue.job set start_after = now() where name = 'look-at-page' and start_after > now()`)
      .catch(() => {})
  }, 200)
  try {
    await holder.query('begin')
    await holder.query('select from company for update')
    const { ended } = start(world.folder, ['run', 'nightly-sync', '--json', ...world.options], world.environment)
    await vi.waitFor(async () => {
      const { rows } = await world.pool.query(
        `select from pg_locks join pg_stat_activity using (pid)
         where not granted and application_name = 'nightferry' and datname = current_database()`,
      )
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
    await happens()
    await holder.query('rollback')
    return await ended
  } finally {
    clearInterval(hurry)
    holder.release(true)
  }
}

async function status({ folder, options, environment }: PullWorld): Promise<string> {
  const ended = await nightferry(folder, ['status', ...options], environment)
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  return ended.stdout
}

async function versions(world: PullWorld): Promise<(number | null | 'gone')[]> {
  const { rows } = await world.pool.query<Sample>(
    `select ${sampleColumns} from companies c join unnest($1::uuid[]) with ordinality listed(company_id, place)
       using (company_id) order by place`,
    [world.companyIds],
  )
  return rows.map((sample) => (sample.here ? versionOf(sample) : 'gone'))
}

test('a search survives addresses that expire in its midst and come in another order, and a page that is gone proves nothing', async () => {
  const clock = createWarpedClock({ timeWarp: 1, notBefore: 0 })
  await using world = await startPullWorld({ ...size, settings: { pull: { pagesAtOnce: 1 } }, sandbox: { clock } })
  const companies = world.companyIds.length
  await world.write(() => 1)
  const { ended } = start(world.folder, ['run', 'nightly-sync', ...world.options], world.environment)
  expect(await ended).toMatchObject({ code: 0 })

  await world.write((place) => (place === 7 ? null : 2))
  const second = await nightWith(world, async () => {
    clock.advance(2 * 3_600_000)
    expect(await status(world)).toMatch(/Pages of the search: 0 of 5 loaded · 5 to come/)
    await trouble(world, { 'pages-shuffled': 1 })
  })
  expect(second, second.stderr).toMatchObject({ code: 0 })
  expect(await versions(world)).toEqual(Array.from({ length: companies }, (_, place) => (place === 7 ? 'gone' : 2)))
  const { rows: renewed } = await world.pool.query<{ state: string; failures: number }>(
    'select state, failures from search_page where submission_id = (select max(submission_id) from submission)',
  )
  expect(new Set(renewed.map(({ state }) => state))).toEqual(new Set(['loaded']))
  // The first page to fail renews the addresses of all others but of those that are being loaded then.
  const failed = renewed.filter(({ failures }) => failures > 0)
  expect(failed.length).toBeGreaterThan(0)
  expect(failed.length).toBeLessThanOrEqual(2)
  expect((await downloads(world.sandboxPool))[1]).toHaveLength(size.pages)

  await trouble(world, {})
  await world.write((place) => (place === 0 ? null : 3))
  let missing = -1
  const third = await nightWith(world, async () => {
    const { rows } = await world.sandboxPool.query<{ ordinal: number }>(
      `delete from file where token = (
         select token from file join task on task.id = task_id
         where request = 'calculatorsSearch' and not exists (select from request_log where path = '/files/' || token)
         order by task.sequence desc, ordinal desc limit 1)
       returning ordinal`,
    )
    missing = rows[0]?.ordinal ?? -1
  })
  expect(third, third.stderr).toMatchObject({ code: 3 })
  const report = JSON.parse(third.stdout) as { verdict: string; remarks: string[] }
  expect(report).toMatchObject({
    verdict: 'partial',
    searches: [{ pages: size.pages, failed_pages: 1, withheld: 'pages_not_loaded' }],
  })
  expect(report.remarks.join(' ')).toMatch(new RegExp(`could not be loaded: page ${missing + 1}: page_gone: .*404`))
  const said = await status(world)
  expect(said).toContain('4 of 5 loaded · 1 failed')
  expect(said).toMatch(new RegExp(`\\b${missing + 1} +failed +6 +page_gone.*404`))
  const after = await versions(world)
  expect(missing).toBeGreaterThanOrEqual(0)
  // The service lists no company 0 any more, so that its first page begins with the company 1.
  const onMissingPage = (place: number) => Math.floor((place - 1) / size.companiesPerPage) === missing
  expect(after).toEqual(Array.from({ length: companies }, (_, place) => (place === 0 || onMissingPage(place) ? 2 : 3)))
}, 180_000)
