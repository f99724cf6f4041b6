import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { describe, expect, it, vi } from 'vitest'
import { isTelling } from '../../src/db/runs/job-requests.ts'
import { startRequests } from '../../src/jobs/answer-requests.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { expectNews, tellNews, tellWhereNobodyDoes } from '../../src/jobs/tell-news.ts'
import { type Answer, json, refusal, reset, type ScriptedService, service } from '../pipeline/push/service.ts'
import { bodies, depsFor, ended, events, ferry, hook, stored, withNews } from './news-world.ts'

withNews()

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

  it('a receiver that refuses does not keep a monitor waiting', async () => {
    await using server = await service({ [hook]: [refusal(500)], '/beat': [json({})] })
    const deps = depsFor(server, { heartbeatUrl: `${server.url}/beat` })
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    expect([server.count(hook), server.count('/beat')]).toEqual([2, 1])
  })

  it('a receiver that only the daemon knows of hears of a run that a person followed', async () => {
    await using server = await service({ [hook]: [json({})], '/hooks/of-the-person': [json({})] })
    const daemons = depsFor(server)
    const persons = depsFor(server, { url: `${server.url}/hooks/of-the-person` })
    const { signal } = new AbortController()
    const daemon = startRequests(daemons, [nightlySync.name])
    try {
      await vi.waitFor(async () => expect(await isTelling(ferry.ledger.db, nightlySync.name)).toBe(true), {
        timeout: 60_000,
      })
      expect(await isTelling(ferry.ledger.db, 'push')).toBe(false)
      await expectNews(persons, nightlySync)
      await ended('failed', 'exchange_unreachable')
      await tellWhereNobodyDoes(persons, nightlySync, signal)
      expect(server.seen).toEqual([])
      await tellNews(daemons, nightlySync)
      expect(server.count(hook)).toBe(1)
      daemons.config.notify.url = null
      await vi.waitFor(async () => expect(await isTelling(ferry.ledger.db, nightlySync.name)).toBe(false), {
        timeout: 60_000,
      })
    } finally {
      await daemon.stop()
    }
    await ended('failed', 'exchange_unauthorized')
    await tellWhereNobodyDoes(persons, nightlySync, signal)
    expect([server.count(hook), server.count('/hooks/of-the-person')]).toEqual([1, 1])
  })

  it('a receiver that comes back after it was given up hears of what still stands', async () => {
    await using server = await service({ [hook]: [refusal(404), refusal(404), refusal(404), json({})] })
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

  it('a receiver that is well again by the next run of a day later hears of both nights, in their order', async () => {
    await using server = await service({ [hook]: [refusal(503), json({})] })
    const deps = depsFor(server)
    await expectNews(deps, nightlySync)
    await ended('failed', 'partner_unreachable')
    await tellNews(deps, nightlySync)
    ferry.clock.at = new Date(ferry.clock.at.getTime() + 87_600_000)
    await ended('partial')
    await tellNews(deps, nightlySync)
    expect(events(server)).toEqual(['failed', 'failed', 'partial'])
    expect(await stored()).toMatchObject([
      { told_at: ferry.clock.at, next_at: null },
      { told_at: ferry.clock.at, next_at: null },
    ])
  })

  it('a receiver that is well again a day later, while another still refuses, counts as told', async () => {
    await using server = await service({ [hook]: [refusal(503), json({})] })
    await using mail = await mailbox({ 'gone@example.com': { responseCode: 550 } })
    const deps = depsFor(server, { email: emailOf(server, mail.port, ['gone@example.com']) })
    await expectNews(deps, nightlySync)
    await ended('failed', 'partner_unreachable')
    await tellNews(deps, nightlySync)
    ferry.clock.at = new Date(ferry.clock.at.getTime() + 87_600_000)
    await tellNews(deps, nightlySync)
    expect(await stored()).toMatchObject([
      {
        told_at: ferry.clock.at,
        next_at: null,
        taken_by: [expect.any(String)],
        error: expect.stringContaining('gone'),
      },
    ])
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

/** A mail server on loopback, the texts that it took, and for whom. @param answers to the addresses that it refuses. */
async function mailbox(answers: Record<string, { responseCode: number }> = {}) {
  const taken: string[] = []
  const takenFor: string[] = []
  const asked: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    onRcptTo: ({ address }, _, done) => {
      asked.push(address)
      const refused = answers[address]
      done(refused === undefined ? null : Object.assign(new Error('not here'), refused))
    },
    onData: (stream, { envelope }, done) => {
      let mail = ''
      stream.setEncoding('utf8').on('data', (piece: string) => {
        mail += piece
      })
      stream.on('end', () => {
        taken.push(mail)
        const event = /^Subject: .*: (\w+)/m.exec(mail)?.[1]
        takenFor.push(...envelope.rcptTo.map(({ address }) => `${address} ${event}`))
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.server.address() as AddressInfo
  return {
    taken,
    takenFor,
    asked,
    answers,
    port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

function emailOf(server: ScriptedService, port: number, to: string[]) {
  const tls = 'none' as const
  return { ...depsFor(server).config.notify.email, host: '127.0.0.1', port, tls, from: 'nights@example.com', to }
}

/** Refuses, and says for how long it wants to be left alone. */
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
    const deps = depsFor(server, { email: emailOf(server, mail.port, ['ada@example.com']) })
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

describe('an address of notify.email', () => {
  const [ada, gone] = ['ada@example.com', 'gone@example.com']

  it.each([
    ['for ever', 550],
    ['for now, again and again', 450],
  ])(
    'an address that its server refuses %s keeps no other waiting, and the others hear of everything once',
    async (_, responseCode) => {
      await using server = await service({})
      await using mail = await mailbox({ [gone]: { responseCode } })
      const deps = depsFor(server, {
        url: null,
        lateAfterMs: 0,
        email: emailOf(server, mail.port, [gone, ada]),
      })
      await expectNews(deps, nightlySync)
      await ended('failed', 'exchange_unreachable')
      await tellNews(deps, nightlySync)
      expect(mail.takenFor).toEqual([`${ada} failed`])
      await ended('failed', 'exchange_unauthorized')
      // Its next attempt at the first message comes before the second is sent, and does not stop it.
      ferry.clock.pass(60_000)
      await tellNews(deps, nightlySync)
      expect(mail.takenFor).toEqual([`${ada} failed`, `${ada} failed`])
      for (let hour = 0; hour < 60; hour++) {
        ferry.clock.pass(3_600_000)
        await tellNews(deps, nightlySync)
      }
      expect(mail.takenFor).toEqual([`${ada} failed`, `${ada} failed`])
      expect(mail.asked.filter((address) => address === ada)).toHaveLength(2)
      // It stays on the list of what did not reach everyone.
      expect(await stored()).toMatchObject([
        { next_at: null, error: `the server of notify.email refused ${gone}: ${responseCode} not here` },
        { next_at: null, error: expect.stringContaining(gone) },
      ])

      // Who has heard of the trouble hears no more of it, and that it is over.
      await ended('failed', 'exchange_unauthorized')
      await ended('succeeded')
      await tellNews(deps, nightlySync)
      expect(mail.takenFor.slice(2)).toEqual([`${ada} recovered`])
    },
  )

  it('an address that is taken out of the configuration leaves no message waiting', async () => {
    await using server = await service({})
    await using mail = await mailbox({ [gone]: { responseCode: 550 } })
    const to = (...addresses: string[]) => depsFor(server, { url: null, email: emailOf(server, mail.port, addresses) })
    await expectNews(to(ada, gone), nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(to(ada, gone), nightlySync)
    ferry.clock.pass(3_600_000)
    await tellNews(to(ada), nightlySync)
    expect(mail.takenFor).toEqual([`${ada} failed`])
    expect(await stored()).toMatchObject([{ next_at: null, error: null }])
  })

  it('an address that its server takes later gets what it lacks, alone and in order', async () => {
    await using server = await service({})
    await using mail = await mailbox({ [gone]: { responseCode: 450 } })
    const deps = depsFor(server, { url: null, email: emailOf(server, mail.port, [ada, gone]) })
    await expectNews(deps, nightlySync)
    await ended('failed', 'exchange_unreachable')
    await tellNews(deps, nightlySync)
    await ended('succeeded')
    await tellNews(deps, nightlySync)
    delete mail.answers[gone]
    ferry.clock.pass(3_600_000)
    await tellNews(deps, nightlySync)
    await tellNews(deps, nightlySync)
    expect(mail.takenFor).toEqual([`${ada} failed`, `${ada} recovered`, `${gone} failed`, `${gone} recovered`])
    expect((await stored()).map(({ error, next_at }) => [error, next_at])).toEqual(Array(2).fill([null, null]))
  })
})
