import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Config } from '../../src/config/schema.ts'
import type { Verdict } from '../../src/db/tables/run-tables.ts'
import { nightlySync } from '../../src/jobs/nightly-sync.ts'
import { expectNews, tellNews } from '../../src/jobs/tell-news.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import type { Message } from '../../src/pipeline/notify/message.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import { type Answer, json, refusal, reset, type ScriptedService, service } from '../pipeline/push/service.ts'

let ferry: Ferry
let plain: Deps & AsyncDisposable
beforeAll(async () => {
  ferry = await openFerry()
  plain = ferry.deps('http://127.0.0.1:9')
})
beforeEach(async () => {
  await ferry.clear()
  ferry.clock.at = new Date('2026-11-21T02:00:00Z')
  await ferry.ledger.db.deleteFrom('notification').execute()
  await ferry.ledger.db.deleteFrom('notification_mark').execute()
})
afterAll(async () => {
  await plain[Symbol.asyncDispose]()
  await ferry.close()
})

const hook = '/hooks/T0/secret-of-the-hook'
const beat = '/beats/secret-of-the-beat'

function depsFor(server: ScriptedService, settings: Partial<Config['notify']> = {}): Deps {
  const notify = { ...plain.config.notify, url: `${server.url}${hook}`, ...settings }
  const jobs = {
    ...plain.config.jobs,
    'nightly-sync': { schedule: '30 2 * * *', timeZone: 'UTC', missed: 'once' as const, finishBy: '03:30' },
  }
  return { ...plain, config: { ...plain.config, notify, jobs }, now: () => ferry.clock.at }
}

async function ended(verdict: Verdict, code?: string): Promise<number> {
  const { run_id } = await ferry.ledger.db
    .insertInto('run')
    .values({
      job: nightlySync.name,
      trigger: 'cli',
      scheduled_for: new Date(ferry.clock.at),
      state: verdict === 'failed' ? 'failed' : 'finished',
      step: 'report',
      verdict,
      failure: code === undefined ? null : JSON.stringify({ code, message: 'Words.', step: 'push' }),
      report: code === undefined ? JSON.stringify({ remarks: [], streams: [], held: [], duration_ms: 1 }) : null,
      finished_at: new Date(ferry.clock.at),
    })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  ferry.clock.at = new Date(ferry.clock.at.getTime() + 60_000)
  return run_id
}

const bodies = (server: ScriptedService) =>
  server.seen.filter(({ path }) => path === hook).map(({ body }) => JSON.parse(body.toString()) as Message)
const events = (server: ScriptedService) => bodies(server).map(({ event }) => event)
const stored = () => ferry.ledger.db.selectFrom('notification').selectAll().orderBy('notification_id').execute()

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
})

describe('a receiver', () => {
  it('a receiver that refuses or breaks off is tried again, later each time, until it takes the message', async () => {
    await using server = await service({ [hook]: [refusal(500), reset, json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    expect(await stored()).toMatchObject([
      { attempts: 1, told_at: null, error: 'the receiver of notify.url answered 500' },
    ])
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(1)
    for (const _ of [2, 3]) {
      ferry.clock.at = new Date(ferry.clock.at.getTime() + 60_000)
      await tellNews(deps, nightlySync)
    }
    expect(server.count(hook)).toBe(3)
    expect(await stored()).toMatchObject([{ attempts: 3, next_at: null, error: null }])
  })

  it('hears of one thing after the other, also where the first has to be sent again', async () => {
    await using server = await service({ [hook]: [refusal(500), json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed'])
    ferry.clock.at = new Date(ferry.clock.at.getTime() + 60_000)
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed', 'failed', 'recovered'])
  })

  it('a receiver that comes back after it was given up hears of what still stands', async () => {
    await using server = await service({ [hook]: [refusal(404), refusal(404), json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    ferry.clock.at = new Date(ferry.clock.at.getTime() + 90_000_000)
    await tellNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    ferry.clock.at = new Date(ferry.clock.at.getTime() + 60_000)
    await tellNews(deps, nightlySync)
    expect((await stored()).map(({ told_at }) => told_at !== null)).toEqual([false, true])
  })

  it('a receiver that takes nothing for a day is given up, and its address stands nowhere', async () => {
    await using server = await service({ [hook]: [reset] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    ferry.clock.at = new Date(ferry.clock.at.getTime() + 86_400_000)
    await tellNews(deps, nightlySync)
    const [only] = await stored()
    expect(only).toMatchObject({ attempts: 2, next_at: null, told_at: null })
    expect(only?.error).toMatch(/^the receiver of notify\.url cannot be reached: /)
    expect(JSON.stringify(only)).not.toContain('secret-of-the-hook')
  })

  it('a receiver that never answers is left as soon as the process is to end', async () => {
    await using server = await service({ [hook]: [() => {}] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    const stopping = new AbortController()
    const telling = tellNews(deps, nightlySync, stopping.signal)
    await expect.poll(() => server.count(hook), { timeout: 60_000 }).toBe(1)
    stopping.abort()
    await telling
    expect(await stored()).toMatchObject([{ attempts: 1, told_at: null }])
  })
})

/** Refuses, and says for how long it wants to be left alone. */
/** A mail server on loopback, and the texts that it took. */
async function mailbox() {
  const taken: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    onData: (stream, _, done) => {
      let mail = ''
      stream.setEncoding('utf8').on('data', (piece: string) => {
        mail += piece
      })
      stream.on('end', () => {
        taken.push(mail)
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.server.address() as AddressInfo
  return { taken, port, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

const busy =
  (headers: Record<string, string>, status = 429): Answer =>
  (response) =>
    response.writeHead(status, headers).end()

describe('a receiver that says when to come again', () => {
  it('a receiver that asks for time is left alone until then, also with other messages, in seconds or until a date of its own clock', async () => {
    const date = { date: 'Sat, 21 Nov 2026 09:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2026 09:20:00 GMT' }
    await using server = await service({ [hook]: [busy({ 'retry-after': '600' }), busy(date, 503), json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(1)

    // Another job's message has the same receiver, and waits as well.
    const other = { job: 'push', event: 'failed' as const, cause: 'failed: x', message: JSON.stringify({}) }
    await ferry.ledger.db
      .insertInto('notification')
      .values({ ...other, created_at: ferry.clock.at, next_at: ferry.clock.at })
      .execute()
    ferry.clock.pass(599_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(1)
    expect(await stored()).toMatchObject([{ attempts: 1 }, { attempts: 0, next_at: expect.any(Date) }])

    ferry.clock.pass(1_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(2)
    ferry.clock.pass(1_199_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(2)
    ferry.clock.pass(1_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(4)
    expect((await stored()).map(({ told_at }) => told_at !== null)).toEqual([true, true])
  })

  it('a receiver that asks for time is left alone for six hours at most, and by nonsense for no longer than any other', async () => {
    await using server = await service({
      [hook]: [busy({ 'retry-after': '9999999' }), busy({ 'retry-after': 'soon' })],
    })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    ferry.clock.pass(6 * 3_600_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(2)
    ferry.clock.pass(60_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(3)
  })
  it('a receiver that asks for time keeps no other receiver waiting', async () => {
    await using server = await service({ [hook]: [busy({ 'retry-after': '21600' }), json({})] })
    await using mail = await mailbox()
    const email = { ...plain.config.notify.email, host: '127.0.0.1', port: mail.port, tls: 'none' as const }
    const deps = depsFor(server, { email: { ...email, from: 'nights@example.com', to: ['ada@example.com'] } })
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    await ended('failed', 'exchange_unauthorized')
    ferry.clock.pass(3_600_000)
    await tellNews(deps, nightlySync)
    expect(server.count(hook)).toBe(1)
    expect(mail.taken).toEqual([expect.stringContaining('unreachable'), expect.stringContaining('unauthorized')])

    ferry.clock.pass(6 * 3_600_000)
    await tellNews(deps, nightlySync)
    expect(bodies(server).map(({ sentence }) => /exchange_\w+/.exec(sentence)?.[0])).toEqual([
      'exchange_unreachable',
      'exchange_unreachable',
      'exchange_unauthorized',
    ])
    expect(mail.taken).toHaveLength(2)
    expect((await stored()).map(({ told_at }) => told_at !== null)).toEqual([true, true])
  })

  it('a receiver that was set in place of one that asked for time is told at once', async () => {
    await using server = await service({ [hook]: [busy({ 'retry-after': '21600' })], '/other': [json({})] })
    await expectNews(depsFor(server), nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(depsFor(server), nightlySync)
    ferry.clock.pass(60_000)
    await ended('failed', 'exchange_unauthorized')
    await tellNews(depsFor(server, { url: `${server.url}/other` }), nightlySync)
    expect(server.count('/other')).toBe(2)
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

describe('a scheduled run', () => {
  it('a scheduled run is late once if it has not ended in time, and that it has is told as well', async () => {
    await using server = await service({ [hook]: [json({})] })
    const deps = depsFor(server, { lateAfterMs: 3_600_000 })
    await ferry.ledger.db
      .insertInto('notification_mark')
      .values({ job: nightlySync.name, run_id: 0, since: new Date('2026-11-20T12:00:00Z') })
      .execute()
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

it('a look that fails is no error of the run, and says that it failed', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  const broken = { ...deps, readClock: () => Promise.reject(new Error('Connection terminated unexpectedly')) }
  expect(await tellNews(broken, nightlySync)).toBe(false)
  expect(await tellNews(deps, nightlySync)).toBe(true)
})

it('a monitor hears of each run that did not fail', async () => {
  await using server = await service({ [hook]: [json({})], [beat]: [json({})] })
  const deps = depsFor(server, { heartbeatUrl: `${server.url}${beat}` })
  await expectNews(deps, nightlySync)
  await ended('succeeded')
  await ended('failed', 'exchange_unreachable')
  await ended('partial')
  await tellNews(deps, nightlySync)
  expect(server.seen.filter(({ path }) => path === beat).map(({ method }) => method)).toEqual(['GET', 'GET'])
})
