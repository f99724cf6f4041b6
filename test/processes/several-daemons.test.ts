import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test, vi } from 'vitest'
import { nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether, upsertsReceived } from '../helpers/request-log.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { bearer, posted, tokens } from '../http/served.ts'
import { nextDraw } from '../reliability/draws.ts'

const daemons = 5
const triggers = 200
/** A busy machine starts daemons slowly, so fewer die in the same time: then the triggers go on until so many did. */
const deaths = 16
const hotels = 12
/** What a daemon that died was at is to be in other hands after so long. */
const takeoverMs = 60_000
/**
 * When each run began and ended, by one clock: a run's own times are those of processes that know the database's clock
 * as well as a busy machine lets them.
 */
const witness = `
  create table witnessed (run_id bigint not null, job text not null, began timestamptz not null, ended timestamptz);
  create function witness_run() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' then
      insert into witnessed (run_id, job, began) values (new.run_id, new.job, clock_timestamp());
    else
      update witnessed set ended = clock_timestamp() where run_id = new.run_id;
    end if;
    return null;
  end $$;
  create trigger begins after insert on run for each row when (new.state = 'running') execute function witness_run();
  create trigger ends after update of state on run for each row
    when (old.state = 'running' and new.state <> 'running') execute function witness_run();`
const patience = { timeout: 600_000, interval: 200 }

/** Small requests, so that a small night has several waves and pages. */
const settings = [
  'push.maxCompaniesPerMapping=5',
  'push.maxAnswersPerUpsert=30',
  'push.maxCalculatorsPerUpsert=40',
  'push.uncertainGraceMs=300',
  // While a look is in dead hands, changes add up to more than the guard lets through.
  'guard.maxChangedShare=1',
].flatMap((setting) => ['--set', setting])

const jobs = ['nightly-sync', 'push', 'pull-calculators', 'refresh-reference', 'nightly-sync', 'housekeeping']

/** What people change at the partner, one change after the other; the last of each kind stands in the end. */
async function change({ partnerPool }: World, nth: number): Promise<void> {
  const hotel = 1 + (nth % hotels)
  await partnerPool.query('update hotelier.hotel set name = $2, updated_at = now() where hotel_id = $1', [
    hotel,
    `Renamed ${nth}`,
  ])
  await partnerPool.query('update hotelier.meter_reading set value = $2, updated_at = now() where hotel_id = $1', [
    hotel,
    1_000 + nth,
  ])
}

type Look = { id: string; started_on: Date }

/** Looks that somebody is at. */
async function looksAtHand(pool: pg.Pool): Promise<Look[]> {
  const { rows } = await pool.query<Look>(`select id, started_on from nightferry_queue.job where state = 'active'`)
  return rows
}

/** How long each look that was at hand went on being in the same hands, in milliseconds. */
class Takeovers {
  readonly #since = new Map<string, { started: number; from: number }>()
  readonly took: number[] = []

  died(looks: readonly Look[]): void {
    for (const { id, started_on } of looks) {
      if (!this.#since.has(id)) this.#since.set(id, { started: started_on.getTime(), from: performance.now() })
    }
  }

  seen(looks: readonly Look[]): void {
    const now = new Map(looks.map(({ id, started_on }) => [id, started_on.getTime()]))
    for (const [id, { started, from }] of this.#since) {
      if (now.get(id) === started) continue
      this.#since.delete(id)
      this.took.push(performance.now() - from)
    }
  }

  get open(): number {
    return this.#since.size
  }
}

function apiOf(daemon: Running): string | undefined {
  return /"url":"(http:[^"]*)"[^\n]*"http_started"/.exec(daemon.stderr())?.[1]
}

/** Asks for a run by the API of a daemon; whether the answer came. */
async function askedFor(daemon: Running, job: string): Promise<boolean> {
  const url = apiOf(daemon)
  if (url === undefined) return false
  const headers = new Headers(posted({}).headers)
  for (const [name, value] of Object.entries(bearer(tokens.act))) headers.set(name, value)
  const asked = { ...posted({}), headers }
  const answer = await fetch(new URL(`/v1/jobs/${job}/runs`, url), asked).catch(() => null)
  // 409: a run of another job is under way.
  if (answer !== null) expect([202, 409, 503], await answer.text()).toContain(answer.status)
  return answer !== null
}

async function atWork(daemon: Running): Promise<void> {
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"service_started"'), patience)
}

test('five daemons, of which one is killed every few seconds, carry out 200 triggers one run at a time and end with the tables of a calm night', async () => {
  await using calm = await startWorld({ hotels, pageSize: 4 })
  await using world = await startWorld({ hotels, pageSize: 4 })
  await using folder = await workingFolder()
  const common = ['--config', demoConfig, ...settings]
  const environment = {
    ...world.environment(),
    NIGHTFERRY_HTTP_PORT: '0',
    NIGHTFERRY_HTTP_TOKEN: tokens.act,
    NIGHTFERRY_JOBS_NIGHTLY_SYNC_SCHEDULE: '* * * * *',
  }
  const serve = () => start(folder.path, ['serve', ...common], environment)
  const alive = Array.from({ length: daemons }, serve)
  for (const daemon of alive) await atWork(daemon)

  await world.pool.query(witness)

  const draw = nextDraw(20_261_124)
  const takeovers = new Takeovers()
  const began = performance.now()
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted || takeovers.open > 0) {
      takeovers.seen(await looksAtHand(world.pool))
      await delay(50)
    }
  })()
  let killed = 0
  const killing = (async () => {
    while (!over.signal.aborted) {
      await delay(2_000 + draw() * 3_000)
      const at = Math.floor(draw() * daemons)
      const victim = alive[at]
      if (victim === undefined) throw new Error('there is no such daemon')
      // On a machine where starting takes longer than the others live, nobody would ever do anything.
      await atWork(victim)
      takeovers.died(await looksAtHand(world.pool))
      victim.child.kill('SIGKILL')
      if (victim.child.exitCode === null && victim.child.signalCode === null) await once(victim.child, 'exit')
      killed += 1
      alive[at] = serve()
    }
  })()

  let [triggered, changes] = [0, 0]
  while (triggered < triggers || killed < deaths) {
    const job = jobs[Math.floor(draw() * jobs.length)] ?? 'nightly-sync'
    const way = triggered % 3
    if (way === 0) await world.pool.query('insert into job_request (job) values ($1)', [job])
    if (way === 1) await world.pool.query(`select pg_notify('nightferry_jobs', $1)`, [job])
    const asked = alive[Math.floor(draw() * daemons)]
    if (way === 2 && (asked === undefined || !(await askedFor(asked, job)))) {
      await delay(100)
      continue
    }
    triggered += 1
    if (triggered % 4 === 0) await change(world, changes++)
    await delay(draw() * 1_200)
  }
  over.abort()
  await Promise.all([killing, watching])

  // Everything that was asked for is answered, and a last run brings what changed meanwhile.
  const settled = async () => {
    const { rows } = await world.pool.query(
      `select (select count(*)::int from job_request where state = 'waiting') as waiting,
              (select count(*)::int from run where state = 'running') as running`,
    )
    expect(rows).toEqual([{ waiting: 0, running: 0 }])
  }
  await vi.waitFor(settled, patience)
  for (const daemon of alive) {
    daemon.child.kill('SIGTERM')
    const { code, signal, stderr } = await daemon.ended
    // One that was told to end before it listened is ended by the signal itself.
    expect(code === 143 || signal === 'SIGTERM', stderr).toBe(true)
  }
  const last = await nightferry(folder.path, ['run', 'nightly-sync', ...common], world.environment())
  expect(last.code, last.stderr).toBe(0)
  for (let nth = 0; nth < changes; nth++) await change(calm, nth)
  const night = await nightferry(folder.path, ['run', 'nightly-sync', ...common], calm.environment())
  expect(night.code, night.stderr).toBe(0)

  const { rows: runs } = await world.pool.query<{ trigger: string; state: string; runs: number }>(
    'select trigger, state, count(*)::int as runs from run group by 1, 2 order by 1, 2',
  )
  const { rows: answers } = await world.pool.query(
    'select state, count(*)::int as requests from job_request group by 1 order by 1',
  )
  const { rows: overlaps } = await world.pool.query(
    `select first.run_id, second.run_id as beside from witnessed first join witnessed second on second.run_id > first.run_id
     where first.job <> 'housekeeping' and second.job <> 'housekeeping'
       and tstzrange(first.began, first.ended) && tstzrange(second.began, second.ended)`,
  )
  const { rows: seen } = await world.pool.query('select from witnessed where ended is not null')
  expect(seen.length).toBeGreaterThan(10)
  const took = some(takeovers.took).toSorted((a, b) => a - b)
  const slow = took.filter((ms) => ms > 5_000)
  const figures = {
    seconds: Math.round((performance.now() - began) / 1000),
    killed,
    runs,
    answers,
    takeovers: { looks: took.length, ofTheDead: slow.length, median: slow[slow.length >> 1], longest: took.at(-1) },
    upserts: await upsertsReceived(world.sandboxPool),
  }
  process.stderr.write(`${JSON.stringify(figures)}\n`)
  expect(killed).toBeGreaterThanOrEqual(deaths)
  expect(overlaps).toEqual([])
  expect(answers.map(({ state }: { state: string }) => state)).not.toContain('refused')
  expect(runs.filter(({ state }) => state !== 'finished')).toEqual([])
  expect(took.at(-1)).toBeLessThan(takeoverMs)
  expect(await sentTooEarly(world.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
  expect(await finalTables(world.pool)).toEqual(await finalTables(calm.pool))
}, 1_200_000)
