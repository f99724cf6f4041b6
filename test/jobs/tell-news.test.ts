import { describe, expect, it } from 'vitest'
import { noteSchedule } from '../../src/db/runs/job-requests.ts'
import { insertSkippedRun } from '../../src/db/runs/run-life.ts'
import { jobsOf, nightlySync } from '../../src/jobs/known-jobs.ts'
import { expectNews, tellNews } from '../../src/jobs/tell-news.ts'
import { json, refusal, service } from '../pipeline/push/service.ts'
import { bodies, depsFor, ended, events, ferry, hook, stored, withNews } from './news-world.ts'

withNews()

const beat = '/beats/secret-of-the-beat'

describe('people', () => {
  it('people are told of a cause once, of another one again, and that all is well again', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    const first = await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    expect(bodies(server)).toMatchObject([
      { event: 'failed', run_id: first, sentence: expect.stringContaining('Words.') },
    ])
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed'])
    await ended('failed', 'exchange_unauthorized')
    await ended('succeeded')
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed', 'failed', 'recovered'])
  })

  it('people are told nothing of what ended before they were to be told', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server)
    await ended('failed', 'exchange_unreachable')
    await expectNews(deps, nightlySync)
    await tellNews(deps, nightlySync)
    expect(server.seen).toEqual([])
    expect(await stored()).toEqual([])
  })

  it('people are told once by many daemons at the same time', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await Promise.all(Array.from({ length: 4 }, () => tellNews(deps, nightlySync)))
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed'])
  })

  it('people are told of the events that they want, and the others are listed', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { on: ['partial', 'recovered'] })
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    // Nobody had heard of the failure, so nobody has to hear that it is over.
    expect(events(server)).toEqual([])
    expect(await stored()).toMatchObject([{ event: 'failed', next_at: null, told_at: null }])
  })

  it('people are told of a cause again after another one that they did not want to hear of', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { on: ['failed', 'late', 'recovered'] })
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    await ended('partial')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed'])
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed', 'failed'])
    await ended('failed', 'exchange_unreachable')
    await ended('partial')
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed', 'failed', 'recovered'])
    expect(bodies(server).at(-1)?.sentence).toContain('Before: failed: exchange_unreachable')
  })

  it('people are told of a cause again after another one that did not reach them', async () => {
    await using server = await service({ [hook]: [json({}), refusal(500), refusal(500), json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    await ended('partial')
    await tellNews(deps, nightlySync)
    ferry.clock.pass(86_400_000)
    await tellNews(deps, nightlySync)
    expect(await stored()).toMatchObject([{ told_at: expect.any(Date) }, { told_at: null, next_at: null }])
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed', 'partial', 'partial', 'failed'])
  })

  it('people are told of the newest of several runs that failed alike while their receiver took nothing', async () => {
    await using server = await service({ [hook]: [refusal(500), refusal(500), json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_forbidden')
    await tellNews(deps, nightlySync)
    ferry.clock.pass(86_400_000 - 120_000)
    const second = await ended('failed', 'exchange_forbidden')
    await tellNews(deps, nightlySync)
    // A day after the first failed.
    ferry.clock.pass(300_000)
    await tellNews(deps, nightlySync)
    ferry.clock.pass(3_600_000)
    await tellNews(deps, nightlySync)
    expect(await stored()).toMatchObject([{ run_id: second, told_at: expect.any(Date), next_at: null }])
    expect(bodies(server).at(-1)).toMatchObject({ event: 'failed', run_id: second })
    await ended('failed', 'exchange_forbidden')
    await tellNews(deps, nightlySync)
    expect(await stored()).toHaveLength(1)
  })

  it('people are told of no newer run than the one that waits, once its event is not wanted any more', async () => {
    await using server = await service({ [hook]: [refusal(500), json({})] })
    await expectNews(depsFor(server), nightlySync)
    const first = await ended('failed', 'exchange_forbidden')
    await tellNews(depsFor(server), nightlySync)
    const deps = depsFor(server, { on: ['partial'] })
    const second = await ended('failed', 'exchange_forbidden')
    await tellNews(deps, nightlySync)
    expect(await stored()).toMatchObject([{ run_id: first }, { run_id: second, told_at: null, next_at: null }])
  })
})

describe('what people know of one destination', () => {
  it('says nothing about another: the same cause is told of each, and so is that each is well again', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server)
    const other = await ferry.ledger.db
      .insertInto('destination')
      .values({ name: 'staging', schema_name: 'nightferry_destination_test', left_at: new Date() })
      .returning('destination_id')
      .executeTakeFirstOrThrow()
    const [own] = await ferry.ledger.db
      .selectFrom('destination')
      .select('name')
      .where('schema_name', 'is', null)
      .execute()
    const there = async (run: number) =>
      await ferry.ledger.db.updateTable('run').set(other).where('run_id', '=', run).execute()
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await there(await ended('failed', 'exchange_unreachable'))
    await there(await ended('succeeded'))
    await ended('failed', 'exchange_unreachable')
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect(bodies(server).map(({ event, destination }) => [event, destination])).toEqual([
      ['failed', own?.name],
      ['failed', 'staging'],
      ['recovered', 'staging'],
      ['recovered', own?.name],
    ])
    expect(await stored()).toMatchObject([{}, other, other, {}])
    await ferry.clear()
    await ferry.ledger.db.deleteFrom('notification').execute()
    await ferry.ledger.db.deleteFrom('destination').where('destination_id', '=', other.destination_id).execute()
  })
})

it('people are told of which destination a message is once there are several, or it has a name of their own', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server, { format: 'slack' })
  const { db } = ferry.ledger
  const nameIt = (name: string) =>
    db.updateTable('destination').set({ name }).where('schema_name', 'is', null).execute()
  const { name } = await db
    .selectFrom('destination')
    .select('name')
    .where('schema_name', 'is', null)
    .executeTakeFirstOrThrow()
  await expectNews(deps, nightlySync)
  const texts: string[] = []
  const tellOf = async (code: string) => {
    await ended('failed', code)
    await tellNews(deps, nightlySync)
    texts.push((bodies(server).at(-1) as unknown as { text: string }).text)
  }
  await tellOf('exchange_unreachable')
  await nameIt('production')
  await tellOf('exchange_forbidden')
  await nameIt(name)
  const other = { name: 'staging', schema_name: 'nightferry_destination_test', left_at: new Date() }
  await db.insertInto('destination').values(other).execute()
  await tellOf('exchange_unauthorized')
  expect(texts).toEqual([
    expect.stringMatching(/^nightly-sync failed/),
    expect.stringMatching(/^At production: nightly-sync failed/),
    expect.stringMatching(new RegExp(`^At ${name}: nightly-sync failed`)),
  ])
  await db.deleteFrom('destination').where('name', '=', other.name).execute()
})

it('one that finds another process at the ends of runs does not wait for it', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  await ended('failed', 'exchange_unreachable')
  await ferry.ledger.db.transaction().execute(async (trx) => {
    await trx.selectFrom('notification_mark').selectAll().forUpdate().execute()
    expect(await tellNews(deps, nightlySync)).toBe(true)
    expect(await stored()).toEqual([])
  })
  await tellNews(deps, nightlySync)
  expect(events(server)).toEqual(['failed'])
})

/** People are to be told of the night from the day before on. */
const toBeTold = (mark: { late_for?: Date } = {}) =>
  ferry.ledger.db
    .insertInto('notification_mark')
    .values({ job: nightlySync.name, run_id: 0, since: new Date('2026-11-20T12:00:00Z'), ...mark })
    .execute()

describe('a scheduled run', () => {
  it('a scheduled run is late once if it has not ended in time, and that it has is told as well', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { lateAfterMs: 3_600_000 })
    await toBeTold()
    ferry.clock.at = new Date('2026-11-21T03:29:59Z')
    await tellNews(deps, nightlySync)
    expect(server.seen).toEqual([])
    ferry.clock.at = new Date('2026-11-21T03:30:00Z')
    await tellNews(deps, nightlySync)
    await tellNews(deps, nightlySync)
    expect(bodies(server)).toMatchObject([
      { event: 'late', run_id: null, sentence: expect.stringContaining('2026-11-21T02:30:00.000Z') },
    ])
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['late', 'recovered'])
  })

  it('a scheduled run is late although a clock that was ahead has begun and missed later ones', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { lateAfterMs: 3_600_000 })
    const ahead = new Date('2026-12-21T02:30:00Z')
    await toBeTold({ late_for: ahead })
    await ferry.ledger.pool.query(
      `insert into run (job, trigger, scheduled_for, state, step, verdict) values ($1, 'schedule', $2, 'finished', 'report', 'succeeded')`,
      [nightlySync.name, ahead],
    )
    ferry.clock.at = new Date('2026-11-21T03:30:00Z')
    await tellNews(deps, nightlySync)
    expect(events(server)).toContain('late')
  })

  it('a scheduled run that was skipped is late', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { lateAfterMs: 3_600_000 })
    await toBeTold()
    await insertSkippedRun(ferry.ledger.db, nightlySync.name, new Date('2026-11-21T02:30:00Z'))
    ferry.clock.at = new Date('2026-11-21T03:30:00Z')
    await tellNews(deps, nightlySync)
    expect(events(server)).toContain('late')
  })

  it('a scheduled run that ended in time is not late, nor one that was due before anyone was to be told', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { lateAfterMs: 60_000 })
    ferry.clock.at = new Date('2026-11-21T02:40:00Z')
    const since = (at: string) =>
      ferry.ledger.db
        .insertInto('notification_mark')
        .values({ job: nightlySync.name, run_id: 0, since: new Date(at) })
        .onConflict((conflict) => conflict.column('job').doUpdateSet({ since: new Date(at) }))
        .execute()
    await since('2026-11-21T02:31:00Z')
    await tellNews(deps, nightlySync)
    await since('2026-11-21T02:00:00Z')
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect(server.seen).toEqual([])
  })
})

it('a scheduled run is not late for a moment before its schedule was set', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server, { lateAfterMs: 60_000 })
  const night = deps.config.jobs['nightly-sync']
  const begun = new Date('2026-11-21T01:00:00Z')
  await noteSchedule(deps.db, nightlySync.name, { ...night, schedule: '0 22 * * *' }, { from: begun, now: begun })
  await toBeTold()
  ferry.clock.at = new Date('2026-11-21T12:00:00Z')
  await tellNews(deps, nightlySync)
  await noteSchedule(deps.db, nightlySync.name, night, { from: ferry.clock.at, now: ferry.clock.at })
  ferry.clock.at = new Date('2026-11-21T12:10:00Z')
  await tellNews(deps, nightlySync)
  expect(server.seen).toEqual([])
  ferry.clock.at = new Date('2026-11-22T02:40:00Z')
  await tellNews(deps, nightlySync)
  expect(events(server)).toEqual(['late'])
})

it('a look that fails is no error of the run, and says that it failed', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  const broken = { ...deps, readClock: () => Promise.reject(new Error('Connection terminated unexpectedly')) }
  expect(await tellNews(broken, nightlySync)).toBe(false)
  expect(await tellNews(deps, nightlySync)).toBe(true)
})

it('a run that was to do a part of its job neither ends a trouble nor is heard of by a monitor', async () => {
  await using server = await service({ [hook]: [json({})], [beat]: [json({})] })
  const deps = depsFor(server, { heartbeatUrl: `${server.url}${beat}` })
  await expectNews(deps, nightlySync)
  await ended('failed', 'exchange_unreachable')
  await ended('succeeded', undefined, { only: ['reference'] })
  await ended('succeeded', undefined, { streams: ['properties'] })
  await tellNews(deps, nightlySync)
  expect(events(server)).toEqual(['failed'])
  expect(server.seen.filter(({ path }) => path === beat)).toEqual([])
})

it('a scheduled run is late although a part of it has ended since', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server, { lateAfterMs: 3_600_000 })
  await toBeTold()
  ferry.clock.at = new Date('2026-11-21T02:45:00Z')
  await ended('succeeded', undefined, { only: ['pull'] })
  ferry.clock.at = new Date('2026-11-21T03:30:00Z')
  await tellNews(deps, nightlySync)
  expect(events(server)).toContain('late')
})

it('a monitor hears of each run that did not fail, was not stopped by the guard, and carried the data through', async () => {
  await using server = await service({ [hook]: [json({})], [beat]: [json({})] })
  const deps = depsFor(server, { heartbeatUrl: `${server.url}${beat}` })
  await expectNews(deps, nightlySync)
  await ended('succeeded')
  await ended('failed', 'exchange_unreachable')
  await ended('partial')
  for (const how of [{ held: true }, { carried: false }]) {
    await ferry.ledger.db
      .updateTable('run')
      .set(how)
      .where('run_id', '=', await ended('partial'))
      .execute()
  }
  await tellNews(deps, nightlySync)
  expect(server.seen.filter(({ path }) => path === beat).map(({ method }) => method)).toEqual(['GET', 'GET'])
})

describe('a monitor of nights', () => {
  const beats = async (schedule: string | null) => {
    await using server = await service({ [hook]: [json({})], [beat]: [json({})] })
    const plain = depsFor(server, { heartbeatUrl: `${server.url}${beat}` })
    const { jobs } = plain.config
    const deps = {
      ...plain,
      config: { ...plain.config, jobs: { ...jobs, 'nightly-sync': { ...jobs['nightly-sync'], schedule } } },
    }
    for (const job of jobsOf(deps.config)) {
      await expectNews(deps, job)
      await ended('succeeded', undefined, {}, job.name)
      await tellNews(deps, job)
    }
    return (await stored()).map(({ job }) => job)
  }

  it('a monitor of nights hears of no other job', async () => {
    expect(await beats('30 2 * * *')).toEqual(['nightly-sync'])
  })

  it('a monitor hears of every job that carries data, where the night has no schedule', async () => {
    expect(await beats(null)).toEqual(['nightly-sync', 'push', 'pull-calculators'])
  })
})

it('people are told of what fails after a clock was ahead while their receiver took nothing', async () => {
  const failing = Array.from({ length: 2 }, () => json({}, 500))
  await using server = await service({ [hook]: [...failing, json({})] })
  const deps = depsFor(server, { lateAfterMs: 3_600_000 })
  await toBeTold()
  const right = ferry.clock.at
  ferry.clock.at = new Date(right.getTime() + 30 * 86_400_000)
  await tellNews(deps, nightlySync)
  ferry.clock.at = right
  await ended('failed', 'exchange_unreachable')
  for (let look = 0; look < 3; look++) {
    await tellNews(deps, nightlySync)
    ferry.clock.pass(60_000)
  }
  expect(events(server)).toContain('failed')
})
