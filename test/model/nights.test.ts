import { describe, expect, it, test, vi } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether, upsertsReceived } from '../helpers/request-log.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

// Half a minute each; one that hangs is to be told before the suite is ended.
vi.setConfig({ testTimeout: 400_000 })

/** Fifty is the first hotel that the service does not know, so one is refused and what depends on it waits. */
const hotels = 55

const command = ['run', 'nightly-sync', '--json', '--config', demoConfig]
const limits = [
  'push.maxCompaniesPerMapping=6',
  'push.maxAnswersPerUpsert=60',
  'push.maxCalculatorsPerUpsert=80',
  'push.maxValuesPerUpsert=20',
  'push.maxHoldersPerUpsert=10',
  'push.uncertainGraceMs=300',
].flatMap((setting) => ['--set', setting])

/** Tasks take long enough that one whose answer was lost is still running when its sender looks for it. */
const durations = { jitter: 0.8, processing: { companyMappings: { baseMs: 500 }, calculatorsUpsert: { baseMs: 900 } } }

const world = (seed = 7) => startWorld({ hotels, seed, pageSize: 20, durations })

async function switchTo(place: World, profiles: Record<string, number>): Promise<void> {
  const answer = await fetch(`${place.sandboxUrl}/sandbox/chaos`, {
    method: 'PUT',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({ profiles }),
  })
  expect(answer.status).toBe(200)
}

type Night = { code: number | null; report: { verdict: string; remarks: string[] } }

async function night(place: World, settings: readonly string[] = limits): Promise<Night> {
  await using folder = await workingFolder()
  const ended = await nightferry(folder.path, [...command, ...settings], place.environment())
  expect(ended.stdout, ended.stderr).not.toBe('')
  return { code: ended.code, report: JSON.parse(ended.stdout) as Night['report'] }
}

type Counts = { posts: number; lost: number; tasks: number; submissions: number; repeats: number; most: number }

/** From the service's log: bulk requests and answers that were lost; from ours: what was sent again. */
async function counts(place: World): Promise<Counts> {
  const { rows: theirs } = await place.sandboxPool.query<{ posts: number; lost: number; tasks: number }>(
    `select count(*)::int as posts, count(*) filter (where 'lost-answer' = any(chaos))::int as lost,
            count(distinct correlation_id)::int as tasks
     from sandbox.request_log where phase = 'received' and method = 'POST' and path like '/api/%/bulk/%'`,
  )
  const { rows: ours } = await place.pool.query<{ submissions: number; repeats: number; most: number }>(
    'select count(*)::int as submissions, sum(repeats)::int as repeats, max(repeats) as most from submission',
  )
  const [service] = theirs
  const [own] = ours
  if (service === undefined || own === undefined) throw new Error('counting answers with a row')
  return { ...service, ...own }
}

describe('a night in which a fifth of all answers is lost after the request was taken', () => {
  const seeds = [7, 8, 9]
  it.each(seeds)('ends as one without trouble, and sends nothing again beside its first (seed %i)', async (seed) => {
    await using calm = await world(seed)
    expect(await night(calm)).toMatchObject({ code: 3 })
    await using harsh = await world(seed)
    await switchTo(harsh, { 'lost-answer': 0.2 })
    expect(await night(harsh)).toMatchObject({ code: 3, report: { verdict: 'partial' } })

    expect(await finalTables(harsh.pool)).toEqual(await finalTables(calm.pool))
    expect(await unfinishedTogether(harsh.sandboxPool)).toEqual([])
    expect(await sentTooEarly(harsh.sandboxPool)).toEqual([])
    const counted = await counts(harsh)
    expect(counted.lost).toBeGreaterThan(counted.posts / 10)
    // Every lost answer leads to one repetition and to nothing else: the service has a task for each of both.
    expect(counted.repeats).toBeLessThanOrEqual(counted.lost)
    expect(counted.posts).toBe(counted.submissions + counted.repeats)
    console.log(JSON.stringify({ seed, ...counted }))
  })
})

test('a night in which small later requests finish first keeps the order, and never has two of a hotel unfinished', async () => {
  await using calm = await world()
  expect(await night(calm)).toMatchObject({ code: 3 })
  await using harsh = await world()
  await switchTo(harsh, { 'small-first': 1 })
  expect(await night(harsh)).toMatchObject({ code: 3 })
  const { rows } = await harsh.sandboxPool.query<{ held: number; overtaken: number }>(
    `with task as (
       select correlation_id, min(id) filter (where phase = 'received') as received,
              min(id) filter (where phase = 'terminal') as terminal
       from sandbox.request_log where correlation_id is not null group by 1)
     select (select count(*)::int from sandbox.request_log where 'small-first' = any(chaos)) as held,
            (select count(*)::int from task earlier join task later
             on later.received > earlier.received and later.terminal < earlier.terminal) as overtaken`,
  )
  expect(rows[0]?.held).toBeGreaterThan(0)
  expect(rows[0]?.overtaken).toBeGreaterThan(0)
  expect(await upsertsReceived(harsh.sandboxPool)).toBeGreaterThan(20)
  expect(await sentTooEarly(harsh.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(harsh.sandboxPool)).toEqual([])
  expect(await finalTables(harsh.pool)).toEqual(await finalTables(calm.pool))
  console.log(JSON.stringify({ ...rows[0], upserts: await upsertsReceived(harsh.sandboxPool) }))
})
