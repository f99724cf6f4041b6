import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { newestRuns } from '../../src/db/runs/newest-runs.ts'
import { judgeMissed } from '../../src/doctor/judge-schedule.ts'
import { dueOccurrence } from '../../src/jobs/due-occurrence.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { startScheduler } from '../../src/jobs/scheduler.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

const nightly = { schedule: '30 2 * * *', timeZone: 'UTC', missed: 'once' as const }

describe('what is due', () => {
  it('what is due is nothing without a schedule', () => {
    expect(dueOccurrence('nightly-sync', { ...nightly, schedule: null }, new Date())).toBeNull()
  })

  it.each([
    ['UTC', '2026-11-21T02:29:59.999Z', '2026-11-20T02:30:00.000Z'],
    ['UTC', '2026-11-21T02:30:00.000Z', '2026-11-21T02:30:00.000Z'],
    ['UTC', '2026-11-22T02:29:00.000Z', '2026-11-21T02:30:00.000Z'],
    ['Europe/Copenhagen', '2026-11-21T01:30:00.000Z', '2026-11-21T01:30:00.000Z'],
    ['Europe/Copenhagen', '2026-07-21T00:30:00.000Z', '2026-07-21T00:30:00.000Z'],
  ])('the occurrence that is due in %s at %s is that of %s', (timeZone, now, due) => {
    expect(dueOccurrence('nightly-sync', { ...nightly, timeZone }, new Date(now))?.toISOString()).toBe(due)
  })

  it.each([
    ['UTC', '2026-10-25'],
    ['Europe/Copenhagen', '2026-03-29'],
    ['Europe/Copenhagen', '2026-10-25'],
    ['America/New_York', '2026-03-08'],
    ['America/New_York', '2026-11-01'],
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Australia/Lord_Howe', '2026-10-04'],
  ])('the schedule in %s has one occurrence on every local day around %s', (timeZone, day) => {
    const localDay = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' })
    for (const schedule of ['30 1 * * *', '45 1 * * *', '30 2 * * *']) {
      const days = new Map<string, Set<number>>()
      const begin = Date.parse(`${day}T00:00:00Z`) - 2 * 86_400_000
      for (let minutes = 0; minutes < 4 * 1440; minutes += 15) {
        const now = new Date(begin + minutes * 60_000)
        const due = dueOccurrence('nightly-sync', { ...nightly, schedule, timeZone }, now)
        const occurrence = due === null ? 'none' : localDay.format(due)
        days.set(occurrence, (days.get(occurrence) ?? new Set()).add(due?.getTime() ?? 0))
      }
      const counts = [...days.values()].map(({ size }) => size)
      expect(counts, schedule).toEqual(counts.map(() => 1))
      expect(counts.length, schedule).toBeGreaterThanOrEqual(4)
      expect([...days.keys()], schedule).toContain(day)
    }
  })

  it.each([
    ['30 2 * * *', 'Europe/Copenhagen', '2026-10-25T00:29:59Z', '2026-10-24T00:30:00.000Z'],
    ['30 2 * * *', 'Europe/Copenhagen', '2026-10-25T00:59:00Z', '2026-10-25T00:30:00.000Z'],
    ['30 2 * * *', 'Europe/Copenhagen', '2026-10-25T01:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['30 2 * * *', 'Europe/Copenhagen', '2026-10-25T01:29:00Z', '2026-10-25T00:30:00.000Z'],
    ['30 2 * * *', 'Europe/Copenhagen', '2026-10-25T01:30:00Z', '2026-10-25T00:30:00.000Z'],
    ['59 2 * * *', 'Europe/Copenhagen', '2026-10-25T01:00:00Z', '2026-10-25T00:59:00.000Z'],
    ['0 3 * * *', 'Europe/Copenhagen', '2026-10-25T01:59:59Z', '2026-10-24T01:00:00.000Z'],
    ['0 3 * * *', 'Europe/Copenhagen', '2026-10-25T02:00:00Z', '2026-10-25T02:00:00.000Z'],
    ['0 * * * *', 'Europe/Copenhagen', '2026-10-25T01:10:00Z', '2026-10-25T00:00:00.000Z'],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T15:00:00Z', '2026-04-04T14:45:00.000Z'],
    ['30 2 * * *', 'Europe/Copenhagen', '2026-03-29T01:29:00Z', '2026-03-28T01:30:00.000Z'],
    ['30 2 * * *', 'Europe/Copenhagen', '2026-03-29T01:30:00Z', '2026-03-29T01:30:00.000Z'],
  ])('the occurrence of %j in %s that is due where clocks change, at %s, is that of %s', (...row) => {
    const [schedule, timeZone, now, due] = row
    expect(dueOccurrence('nightly-sync', { ...nightly, schedule, timeZone }, new Date(now))?.toISOString()).toBe(due)
  })

  it.each([
    ['every night', 'UTC'],
    ['30 2 * * *', 'Europe/Atlantis'],
  ])('cannot be said of %j in %s', (schedule, timeZone) => {
    expect(() => dueOccurrence('nightly-sync', { ...nightly, schedule, timeZone }, new Date())).toThrow(
      expect.objectContaining({ problems: [expect.objectContaining({ path: 'jobs.nightly-sync.schedule' })] }),
    )
  })
})

describe('the scheduler', () => {
  let ferry: Ferry
  beforeAll(async () => {
    ferry = await openFerry()
  })
  beforeEach(async () => {
    await ferry.clear()
    ferry.clock.at = new Date('2026-11-21T02:00:00Z')
  })
  afterAll(() => ferry.close())

  const runs = () =>
    ferry.ledger.db.selectFrom('run').select(['trigger', 'state', 'scheduled_for']).orderBy('run_id').execute()
  const occurrence = new Date('2026-11-21T02:30:00Z')

  async function schedule(
    missed: 'once' | 'skip',
    work: (tick: () => Promise<void>) => Promise<void>,
    readClock: () => Promise<void> = async () => {},
    upMs: () => number = () => 0,
  ) {
    await using plain = ferry.deps('http://127.0.0.1:9')
    const jobs = { 'nightly-sync': { schedule: '30 2 * * *', missed } }
    const deps: Deps = { ...plain, config: settings.parse({ jobs }), readClock }
    const scheduler = startScheduler(deps, nightlySync, ferry.clock.at, upMs)
    try {
      await work(scheduler.tick)
    } finally {
      await scheduler.stop()
    }
  }

  it('begins with the first occurrence after its own start, and starts it once', async () => {
    await schedule('once', async (tick) => {
      await tick()
      expect(await runs()).toEqual([])
      ferry.clock.at = occurrence
      await Promise.all([tick(), tick(), tick()])
      ferry.clock.pass(60_000)
      await tick()
      expect(await runs()).toEqual([{ trigger: 'schedule', state: 'running', scheduled_for: occurrence }])
    })
  })

  it('catches a missed occurrence up once', async () => {
    await schedule('once', async (tick) => {
      ferry.clock.at = new Date('2026-11-24T05:00:00Z')
      await tick()
      await tick()
      const newest = new Date('2026-11-24T02:30:00Z')
      expect(await runs()).toEqual([{ trigger: 'missed', state: 'running', scheduled_for: newest }])
    })
  })

  it.each([
    ['a month', ['11-21', '12-21', '11-22', '11-22', '12-20', '12-21', '12-21']],
    ['one night', ['11-21', '11-22', '11-21', '11-22', '11-23', '11-23']],
  ])(
    'starts what falls due although a clock that was ahead by %s has decided about a later night, and that night as well',
    async (_, days) => {
      const at = (day: string) => new Date(`2026-${day}T02:30:00Z`)
      await schedule('once', async (tick) => {
        for (const day of days) {
          ferry.clock.at = at(day)
          await tick()
          await ferry.ledger.pool.query(
            `update run set state = 'finished', verdict = 'succeeded' where state = 'running'`,
          )
        }
      })
      const started = (await runs()).map(({ scheduled_for }) => scheduled_for)
      const byTime = [...new Set(days)].sort()
      const taken = new Date(at('11-21').getTime() + 1)
      expect(started.toSorted((a, b) => a.getTime() - b.getTime())).toEqual([
        at('11-21'),
        taken,
        ...byTime.slice(1).map(at),
      ])
    },
  )

  it.each(['once', 'skip'] as const)(
    'what was decided stands while a clock is at its first day, where missed is %s',
    async (missed) => {
      await schedule(missed, async (tick) => {
        const nights = ['2026-11-21T02:30:00Z', '2026-11-22T02:30:00Z'].map((at) => new Date(at))
        for (const at of nights) {
          ferry.clock.at = at
          await tick()
          await ferry.ledger.pool.query(`update run set state = 'finished', verdict = 'succeeded'`)
        }
        for (const at of ['2000-01-01T00:00:00Z', '2000-01-01T03:00:00Z', '2026-11-22T09:00:00Z']) {
          ferry.clock.at = new Date(at)
          await tick()
          await ferry.ledger.pool.query(`update run set state = 'finished' where state = 'running'`)
        }
        expect((await runs()).filter(({ scheduled_for }) => scheduled_for.getFullYear() > 2000)).toEqual(
          nights.map((scheduled_for) => ({ trigger: 'schedule', state: 'finished', scheduled_for })),
        )
      })
    },
  )

  it('a new installation that began while its clock was ahead begins with the next occurrence', async () => {
    const right = ferry.clock.at
    ferry.clock.at = new Date('2026-12-21T02:00:00Z')
    await schedule('once', async (tick) => {
      ferry.clock.at = right
      await tick()
      ferry.clock.at = occurrence
      await tick()
      expect(await runs()).toMatchObject([{ trigger: 'schedule', scheduled_for: occurrence }])
    })
  })

  it('notes a missed occurrence as skipped when the configuration says so', async () => {
    await schedule('skip', async (tick) => {
      ferry.clock.at = new Date(occurrence.getTime() + 120_001)
      await tick()
      await tick()
      expect(await runs()).toEqual([{ trigger: 'missed', state: 'skipped', scheduled_for: occurrence }])
    })
  })

  /** What became of an occurrence that was seen in time while the database was away for so long. Minutes. */
  async function afterAbsence(minutes: number, before: () => Promise<void> = async () => {}) {
    let away = false
    const readClock = async () => {
      if (away) throw new Error('the database is away')
    }
    await schedule(
      'skip',
      async (tick) => {
        await tick()
        await before()
        ferry.clock.at = occurrence
        away = true
        await expect(tick()).rejects.toThrow('the database is away')
        ferry.clock.pass(minutes * 60_000)
        away = false
        await tick()
      },
      readClock,
    )
    return await runs()
  }

  it('starts as scheduled what fell due while the database was away, however long that took', async () => {
    expect(await afterAbsence(200)).toEqual([{ trigger: 'schedule', state: 'running', scheduled_for: occurrence }])
  })

  it('starts what fell due while the database was away once the run has ended that was found under way', async () => {
    const underWay = async () => {
      await ferry.ledger.db
        .insertInto('run')
        .values({
          job: nightlySync.name,
          trigger: 'cli',
          state: 'running',
          step: 'x',
          scheduled_for: new Date('2026-11-21T02:10:00Z'),
        })
        .execute()
    }
    await afterAbsence(3, underWay)
    await ferry.ledger.pool.query(`update run set state = 'finished', verdict = 'succeeded' where state = 'running'`)
    await schedule('skip', async (tick) => await tick())
    expect((await runs()).at(-1)).toEqual({ trigger: 'schedule', state: 'running', scheduled_for: occurrence })
  })

  it('judges what fell due while its job was paused by when it was resumed, also if it was seen in time', async () => {
    const pause = async () => {
      await ferry.ledger.db
        .insertInto('job_pause')
        .values({ job: nightlySync.name, reason: null, paused_by: 'ada' })
        .execute()
    }
    await schedule('skip', async (tick) => {
      await tick()
      await pause()
      ferry.clock.at = occurrence
      await tick()
      ferry.clock.pass(600_000)
      await ferry.ledger.db.deleteFrom('job_pause').execute()
      await tick()
    })
    expect(await runs()).toMatchObject([{ state: 'skipped' }])
    const [skipped] = judgeMissed({
      job: nightlySync.name,
      due: occurrence,
      now: ferry.clock.at,
      since: null,
      runs: await newestRuns(ferry.ledger.db, 31, { job: nightlySync.name }),
      atWork: 1,
    })
    expect(skipped).toMatchObject({
      what: '1 of the last 1 runs of nightly-sync fell due while no process was up or the job was paused, and were skipped',
      todo: expect.stringContaining('also once the job is resumed'),
    })
  })

  /** How long a daemon has been up that began at 02:20, by a clock that no suspension counts in. */
  const upSince = (suspendedMs: number) => () =>
    ferry.clock.at.getTime() - new Date('2026-11-21T02:20:00Z').getTime() - suspendedMs

  it('starts what fell due while a statement of another job kept it from all else, once that job has ended', async () => {
    ferry.clock.at = new Date('2026-11-21T02:28:00Z')
    await schedule(
      'skip',
      async (tick) => {
        await tick()
        await ferry.ledger.db
          .insertInto('run')
          .values({
            job: 'push',
            trigger: 'schedule',
            state: 'running',
            step: 'extract',
            scheduled_for: ferry.clock.at,
          })
          .execute()
        ferry.clock.at = new Date('2026-11-21T02:34:00Z')
        await tick()
        await ferry.ledger.pool.query(`update run set state = 'finished', verdict = 'succeeded'`)
        ferry.clock.pass(60_000)
        await tick()
      },
      undefined,
      upSince(0),
    )
    expect((await runs()).at(-1)).toEqual({ trigger: 'schedule', state: 'running', scheduled_for: occurrence })
  })

  it.each([
    ['starts what fell due while it waited at its start for a database that was away', 0, 'schedule'],
    ['skips what fell due while the machine was suspended', 20 * 60_000, 'missed'],
  ])('%s', async (_, suspendedMs, trigger) => {
    await schedule('skip', async (tick) => tick(), undefined, upSince(0))
    ferry.clock.at = new Date('2026-11-21T02:45:00Z')
    await schedule('skip', async (tick) => tick(), undefined, upSince(suspendedMs))
    expect(await runs()).toMatchObject([{ trigger, state: trigger === 'missed' ? 'skipped' : 'running' }])
  })

  it('skips what fell due while the machine was suspended, however long the daemon had been up before', async () => {
    let suspendedMs = 0
    await schedule(
      'skip',
      async (tick) => {
        await tick()
        ferry.clock.at = new Date('2026-11-21T08:05:00Z')
        suspendedMs = 6 * 3_600_000
        await tick()
        ferry.clock.pass(60_000)
        await tick()
      },
      undefined,
      () => ferry.clock.at.getTime() - new Date('2026-11-20T02:20:00Z').getTime() - suspendedMs,
    )
    expect(await runs()).toMatchObject([{ state: 'skipped' }])
  })

  it.each([
    ['skip', 'skipped'],
    ['once', 'running'],
  ] as const)(
    'by missed: %s, what fell due during a suspension was missed, also where the clock tells of it only once it is read',
    async (missed, state) => {
      ferry.clock.at = new Date('2026-11-20T22:00:00Z')
      let read = ferry.clock.at
      await schedule(
        missed,
        async (tick) => {
          await tick()
          read = new Date('2026-11-21T08:05:00Z')
          await tick()
        },
        async () => {
          ferry.clock.at = read
        },
        () => 48 * 3_600_000,
      )
      expect(await runs()).toEqual([{ trigger: 'missed', state, scheduled_for: occurrence }])
    },
  )

  it('starts what was seen in time before the machine was suspended, and waited for another run', async () => {
    let suspendedMs = 0
    ferry.clock.at = occurrence
    await schedule(
      'skip',
      async (tick) => {
        await tick()
        await ferry.ledger.db
          .insertInto('run')
          .values({
            job: 'push',
            trigger: 'schedule',
            state: 'running',
            step: 'extract',
            scheduled_for: ferry.clock.at,
          })
          .execute()
        ferry.clock.at = new Date('2026-11-22T02:30:00Z')
        await tick()
        ferry.clock.at = new Date('2026-11-22T08:05:00Z')
        suspendedMs = 5 * 3_600_000
        await tick()
        await ferry.ledger.pool.query(`update run set state = 'finished', verdict = 'succeeded'`)
        ferry.clock.pass(60_000)
        await tick()
      },
      undefined,
      () => ferry.clock.at.getTime() - new Date('2026-11-20T02:20:00Z').getTime() - suspendedMs,
    )
    expect((await runs()).at(-1)).toMatchObject({ trigger: 'schedule', state: 'running' })
  })

  it('skips what fell due while its job was paused, however long the daemon has been up', async () => {
    await schedule(
      'skip',
      async (tick) => {
        await ferry.ledger.db
          .insertInto('job_pause')
          .values({ job: nightlySync.name, reason: null, paused_by: 'ada' })
          .execute()
        await tick()
        ferry.clock.at = new Date('2026-11-21T02:45:00Z')
        await tick()
        await ferry.ledger.db.deleteFrom('job_pause').execute()
        ferry.clock.pass(60_000)
        await tick()
      },
      undefined,
      upSince(0),
    )
    expect(await runs()).toMatchObject([{ state: 'skipped' }])
  })

  it('skips what fell due while its job was paused, also where another run was in the way then', async () => {
    await schedule('skip', async (tick) => {
      await tick()
      await ferry.ledger.db
        .insertInto('job_pause')
        .values({ job: nightlySync.name, reason: null, paused_by: 'ada' })
        .execute()
      await ferry.ledger.db
        .insertInto('run')
        .values({ job: 'push', trigger: 'schedule', state: 'running', step: 'extract', scheduled_for: ferry.clock.at })
        .execute()
      ferry.clock.at = occurrence
      await tick()
      await ferry.ledger.pool.query(`update run set state = 'finished', verdict = 'succeeded'`)
      ferry.clock.pass(60_000)
      await tick()
      ferry.clock.at = new Date('2026-11-21T10:00:00Z')
      await tick()
      await ferry.ledger.db.deleteFrom('job_pause').execute()
      ferry.clock.pass(60_000)
      await tick()
    })
    expect((await runs()).at(-1)).toMatchObject({ state: 'skipped' })
  })

  it('starts what is late by no more than two ticks as scheduled', async () => {
    await schedule('skip', async (tick) => {
      ferry.clock.at = new Date(occurrence.getTime() + 120_000)
      await tick()
      expect(await runs()).toMatchObject([{ trigger: 'schedule', state: 'running' }])
    })
  })
})
