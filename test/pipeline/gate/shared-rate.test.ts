import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { reserveCalls } from '../../../src/db/service-key/service-key.ts'
import { defaultBackOff } from '../../../src/exchange/back-off.ts'
import { keyFingerprint } from '../../../src/pipeline/gate/shared-gate.ts'
import { httpServer, sendJson } from '../../exchange/fault-server.ts'
import { rejection } from '../../exchange/test-client.ts'
import { canaries } from '../../helpers/canaries.ts'
import { inTime } from '../../helpers/in-time.ts'
import { patience } from '../../helpers/patience.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { some } from '../../helpers/some.ts'
import { readLog, switchTo } from '../../sandbox/chaos-world.ts'
import { type OpenSandbox, openSandbox } from '../../sandbox/open-sandbox.ts'
import { databaseOf, gated } from './gated.ts'

let sandbox: OpenSandbox
let databaseUrl: string
beforeAll(async () => {
  sandbox = await openSandbox()
  databaseUrl = (await testDatabase()).url
})
afterAll(() => sandbox.close())

/** The most moments that lie within any span of so many milliseconds. */
function mostWithin(moments: readonly number[], spanMs: number): number {
  return Math.max(...moments.map((from) => moments.filter((at) => at >= from && at < from + spanMs).length))
}

test('three daemons together begin no more calls in any second than the rate, and each gets its share', async () => {
  const requestsPerSecond = 50
  const ended: number[][] = [[], [], []]
  const daemons = ended.map(() => gated({ databaseUrl, serviceUrl: sandbox.url, requestsPerSecond }))
  const from = (await readLog(sandbox)).at(-1)?.id ?? 0
  // Each has more to do than the rate allows, until 200 calls were made by all.
  let begun = 0
  await Promise.all(
    daemons.map(({ client }, at) =>
      Promise.all(
        Array.from({ length: 8 }, async () => {
          while (begun++ < 200) {
            await client.getUnitTypes()
            ended[at]?.push(performance.now())
          }
        }),
      ),
    ),
  )
  const lines = (await readLog(sandbox)).filter(({ id, path }) => id > from && path.endsWith('/unit-types'))
  expect(lines).toHaveLength(200)
  const moments = lines.map(({ at }) => new Date(at).getTime())
  // The log is written by this very process, so a moment in which it stands still brings calls together.
  expect(mostWithin(moments, 1_000)).toBeLessThanOrEqual(requestsPerSecond * 1.25)
  // And it is used: nothing is gained by a rate that nobody reaches.
  expect(Math.max(...moments) - Math.min(...moments)).toBeLessThan((200 / requestsPerSecond) * 2_000)
  for (const calls of some(ended)) expect(calls.length).toBeGreaterThan(40)
}, 120_000)

test('turns that many reserve at once lie behind each other, however many each takes', async () => {
  const pools = [1, 2, 3].map(() => databaseOf(databaseUrl))
  const reserved: { from: number; to: number }[] = []
  const zero = performance.now()
  await Promise.all(
    pools.map(async (db, at) => {
      for (let round = 0; round < 20; round++) {
        const asked = performance.now()
        const inMs = (await reserveCalls(db, 'key', at + 1, 50)) ?? Number.NaN
        // By which time the first turn lies so far ahead is known up to the time that the statement took.
        reserved.push({ from: asked + inMs, to: asked + inMs + (at + 1) * 50 })
      }
    }),
  )
  const turns = reserved.toSorted((a, b) => a.from - b.from)
  expect((turns.at(-1)?.to ?? 0) - zero).toBeGreaterThan(20 * (1 + 2 + 3) * 50 - 200)
  for (const [at, { from }] of some(turns.entries())) expect(from - (turns[at - 1]?.to ?? 0)).toBeGreaterThan(-200)
})

test('calls that queue up have their turns reserved together', async () => {
  await using server = await httpServer((_request, response) => sendJson(response, []))
  const { client, statements } = gated({ databaseUrl, serviceUrl: server.url, requestsPerSecond: 400 })
  await Promise.all(Array.from({ length: 400 }, () => client.getUnitTypes()))
  expect(server.seen).toHaveLength(400)
  expect(statements()).toBeLessThan(100)
})

test('a daemon whose calls are slow leaves the rate to others', async () => {
  let answeredAfterMs = 200
  await using slow = await httpServer((_request, response) => setTimeout(() => sendJson(response, []), answeredAfterMs))
  const options = { databaseUrl, serviceUrl: slow.url, requestsPerSecond: 100 }
  const busy = gated({ ...options, client: { concurrency: 2 } })
  const quick = gated({ ...options, client: { concurrency: 64 } })
  // Two at a time they take 20 seconds. With a turn for each that waits, nothing would be left of the rate.
  let ended = 0
  const queued = Promise.all(Array.from({ length: 200 }, () => busy.client.getUnitTypes().then(() => ended++)))
  await vi.waitFor(() => expect(slow.seen.length).toBeGreaterThan(2), patience)
  await Promise.all(Array.from({ length: 150 }, () => quick.client.getUnitTypes()))
  expect(ended).toBeLessThan(200)
  answeredAfterMs = 0
  await queued
}, 60_000)

test('a 429 of one daemon pauses all of them for as long as the service asks', async () => {
  const seen: number[] = []
  await using server = await httpServer((_request, response, number) => {
    seen.push(performance.now())
    if (number === 1) response.writeHead(429, { 'retry-after': '1' }).end()
    else sendJson(response, [])
  })
  const one = gated({ databaseUrl, serviceUrl: server.url })
  const other = gated({ databaseUrl, serviceUrl: server.url })
  const throttled = one.client.getUnitTypes()
  const db = databaseOf(databaseUrl)
  const pausedKeys = () =>
    sql`select from service_key
        where fingerprint = ${keyFingerprint(canaries.apiKey, server.url)} and paused_until > clock_timestamp()`.execute(
      db,
    )
  // The log says so before the database knows.
  await vi.waitFor(async () => expect((await pausedKeys()).rows).toHaveLength(1), patience)
  expect(one.events).toContain('exchange_paused')
  await Promise.all([throttled, other.client.getUnitTypes(), other.client.getGroups()])
  expect(seen).toHaveLength(4)
  for (const at of some(seen.slice(1))) expect(at - (seen[0] ?? 0)).toBeGreaterThan(950)
})

test('a pause is no longer than the cap, whatever the service asks for', async () => {
  await using server = await httpServer((_request, response, number) =>
    number === 1 ? response.writeHead(429, { 'retry-after': '86400' }).end() : sendJson(response, []),
  )
  const backOff = { ...defaultBackOff, attempts: 1, maxRetryAfterMs: 300 }
  const { client } = gated({ databaseUrl, serviceUrl: server.url, client: { backOff } })
  expect(await rejection(client.getUnitTypes())).toMatchObject({ code: 'exchange_throttled', retryAfterMs: 300 })
  const start = performance.now()
  expect(await inTime(5_000, client.getUnitTypes())).toBe(true)
  expect(performance.now() - start).toBeGreaterThan(200)
})

test.each(['seconds', 'date', 'nonsense'])(
  'a read and a POST that are answered 429 with %s leave once more after the wait, and none before it',
  async (form) => {
    const from = (await readLog(sandbox)).at(-1)?.id ?? 0
    await switchTo(sandbox, { [`rate-limited:${form}`]: 1 })
    const { client, events } = gated({
      databaseUrl,
      serviceUrl: sandbox.url,
      client: { backOff: { ...defaultBackOff, attempts: 1 } },
    })
    const search = () => client.submit('calculatorsSearch', '{"customPropertyIds":[],"calculatorTypeIds":[]}')
    const refused = (await rejection(search())) as Error & { retryAfterMs: number | null }
    expect(refused).toMatchObject({ code: 'exchange_throttled' })
    expect(refused.retryAfterMs === null).toBe(form === 'nonsense')
    expect(events).toEqual(['exchange_paused'])
    await switchTo(sandbox, {})
    await search()
    await client.getUnitTypes()
    const posts = (await readLog(sandbox)).filter(({ id, path }) => id > from && path.endsWith('/calculators/search'))
    const [first, second] = posts.filter(({ phase }) => phase === 'received').map(({ at }) => new Date(at).getTime())
    // A date has whole seconds: what is left of the first may be next to nothing.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(form === 'date' ? 0 : 950)
  },
  20_000,
)

test('a call that gets no turn because the database cannot be reached was not sent', async () => {
  await using server = await httpServer((_request, response) => sendJson(response, []))
  const { client } = gated({
    databaseUrl: 'postgres://nobody@127.0.0.1:9/nothing',
    serviceUrl: server.url,
    client: { backOff: { ...defaultBackOff, attempts: 1 } },
  })
  const error = await rejection(client.submit('companyMappings', '{}'))
  expect(error).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
  expect(error.message).toContain('nothing was sent')
  expect(server.seen).toEqual([])
})

test('a call that is given up while it waits for its turn was not sent', async () => {
  await using server = await httpServer((_request, response, number) =>
    number === 1 ? response.writeHead(429, { 'retry-after': '30' }).end() : sendJson(response, []),
  )
  const { client } = gated({
    databaseUrl,
    serviceUrl: server.url,
    client: { backOff: { ...defaultBackOff, attempts: 1 } },
  })
  await rejection(client.getUnitTypes())
  const lost = new AbortController()
  const waiting = rejection(client.submit('companyMappings', '{}', lost.signal))
  lost.abort(new Error('the lock was lost'))
  expect(await waiting).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
  expect(server.seen).toHaveLength(1)
})
