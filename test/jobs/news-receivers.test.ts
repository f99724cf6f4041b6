import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { describe, expect, it } from 'vitest'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { expectNews, tellNews } from '../../src/jobs/tell-news.ts'
import { type Answer, json, refusal, reset, service } from '../pipeline/push/service.ts'
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
    const email = { ...depsFor(server).config.notify.email, host: '127.0.0.1', port: mail.port, tls: 'none' as const }
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
