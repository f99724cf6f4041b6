import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { nightferry, type Running, start } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { type PullWorld, startPullWorld, type VersionOf } from '../helpers/pull-world.ts'

const size = { pages: 6, companiesPerPage: 6 }
const nights = 3
const command = ['run', 'nightly-sync', '--json']

/**
 * Each night some companies are gone and those of the night before are back, a third is as it was, the rest changed.
 */
const onNight =
  (night: number): VersionOf =>
  (place) =>
    isGone(night, place) ? null : place % 3 === 0 ? 1 : night
const isGone = (night: number, place: number) => place % 11 === night

async function wholeNight({ folder, options, environment }: PullWorld): Promise<void> {
  const run = await nightferry(folder, [...command, ...options], environment)
  expect(run, run.stderr).toMatchObject({ code: 0 })
}

/**
 * Kills the process as soon as the question answers true, or later by up to so many milliseconds; false: it ended
 * before.
 */
async function killWhen(
  { pool }: PullWorld,
  victim: Running,
  question: string,
  values: unknown[],
  later = 0,
): Promise<boolean> {
  const { child } = victim
  const over = () => child.exitCode !== null || child.signalCode !== null
  await vi.waitFor(
    async () => {
      const { rows } = await pool.query<{ reached: boolean }>(question, values)
      expect(over() || rows[0]?.reached).toBe(true)
    },
    { timeout: 60_000, interval: 5 },
  )
  // What is at work at that instant should vary.
  await pause(later)
  if (!over()) {
    child.kill('SIGKILL')
    if (!over()) await once(child, 'exit')
  }
  return child.signalCode === 'SIGKILL'
}

const pagesLoaded = `
  select count(*) >= $1 as reached
  from search_page join submission using (submission_id) join run using (run_id)
  where search_page.state = 'loaded' and run.state = 'running'`
const waitsForLock = `
  select exists (
    select from pg_locks join pg_stat_activity using (pid)
    where not granted and application_name = 'nightferry' and datname = current_database()
  ) as reached`

test('a search that is cut off again and again ends in the tables of one that was not', async () => {
  await using calm = await startPullWorld(size)
  await using harsh = await startPullWorld(size)
  expect(harsh.companyIds).toEqual(calm.companyIds)
  const kills = { betweenPages: 0, inMerge: 0, inFinish: 0 }
  const killOne = async (kind: keyof typeof kills, question: string, values: unknown[] = [], later = 0) => {
    const victim = start(harsh.folder, [...command, ...harsh.options], harsh.environment)
    expect(await killWhen(harsh, victim, question, values, later)).toBe(true)
    kills[kind] += 1
  }
  /** Somebody else's lock on a company of that place: anyone who has to write it waits for the end of `work`. */
  const whileLocked = async (place: number, work: () => Promise<void>) => {
    const holder = await harsh.pool.connect()
    try {
      await holder.query('begin')
      const { rowCount } = await holder.query('select from company where company_id = $1 for update', [
        harsh.companyIds[place],
      ])
      expect(rowCount).toBe(1)
      await work()
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  }
  for (let night = 1; night <= nights; night++) {
    await calm.write(onNight(night))
    await harsh.write(onNight(night))
    await wholeNight(calm)
    if (night > 1) {
      // It changes tonight, and it stays: its page cannot be loaded, nor the run end, while it is locked.
      const changing = harsh.companyIds.findIndex(
        (_, place) => place % 3 !== 0 && !isGone(night, place) && !isGone(night - 1, place),
      )
      await whileLocked(changing, async () => {
        for (let loaded = 1; loaded < size.pages; loaded += 1) {
          await killOne('betweenPages', pagesLoaded, [loaded], (night * 37 + loaded * 53) % 120)
        }
        await killOne('inMerge', waitsForLock)
      })
      await whileLocked(
        harsh.companyIds.findIndex((_, place) => isGone(night, place)),
        async () => {
          await killOne('inFinish', waitsForLock)
        },
      )
    }
    await wholeNight(harsh)
    const { rows: runs } = await harsh.pool.query('select count(*)::int as runs from run')
    expect(runs).toEqual([{ runs: night }])
    expect(await finalTables(harsh.pool), `night ${night}`).toEqual(await finalTables(calm.pool))
  }
  expect(kills).toEqual({ betweenPages: 2 * (size.pages - 1), inMerge: 2, inFinish: 2 })
  const { rows } = await harsh.pool.query('select count(*)::int as gone from companies where removed_at is not null')
  expect(rows).toEqual([{ gone: harsh.companyIds.filter((_, place) => isGone(nights, place)).length }])
}, 600_000)
