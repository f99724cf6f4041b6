import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createChaos } from '../../src/sandbox/chaos/chaos.ts'
import { rowOccasion } from '../../src/sandbox/chaos/row-chaos.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { mapHotels, partnerId } from './bodies.ts'
import { exchange, json, type Received, wire } from './chaos-wire.ts'
import { type LogLine, readLog, shows, struckLines, struckNames, switchTo } from './chaos-world.ts'
import type { ErrorBody, Task } from './documents.ts'
import { manualClock } from './manual-clock.ts'
import { contract, type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

let sandbox: OpenSandbox
let before: number
const still = manualClock()
/** Requests that wait for their latency: nothing else waits from 0.1 to 2 seconds. */
let delayed = 0
const clock = {
  ...still,
  wait: async (ms: number, signal: AbortSignal) => {
    const isLatency = ms >= 100 && ms < 2000
    if (isLatency) delayed += 1
    await still.wait(ms, signal)
    if (isLatency) delayed -= 1
  },
}
beforeAll(async () => {
  sandbox = await openSandbox({ clock })
})
beforeEach(async () => {
  await switchTo(sandbox, {})
  before = (await readLog(sandbox)).at(-1)?.id ?? 0
})
afterAll(() => sandbox.close())

const unitTypes = () => `${sandbox.url}${contract.endpoints.unitTypes.path}`
const submission = () => `${sandbox.url}${contract.endpoints.companyMappings.path}`
const post = (number: number) => ({ method: 'POST', body: mapHotels(number) })
const tasks = async () => (await sandbox.call<Task[]>('GET', contract.endpoints.tasks.path)).body

/** The one line that chaos left. */
async function theLine(): Promise<LogLine> {
  const lines = await struckLines(sandbox, before)
  expect(lines).toHaveLength(1)
  return lines[0] as LogLine
}

async function strikes(name: string, line: Partial<LogLine>): Promise<void> {
  expect(await theLine()).toMatchObject({ ...line, phase: 'received', chaos: [name] })
}

describe('what strikes a request before it is looked at', () => {
  shows('latency', 'is answered only when its time has come', async () => {
    await switchTo(sandbox, { latency: 1 })
    const asked = exchange(unitTypes())
    await waiting()
    expect(asked.received()).toHaveLength(0)
    clock.advance(2000)
    expect(json(await asked.end())).toBeInstanceOf(Array)
    await strikes('latency', { httpStatus: 200 })
  })

  it('drops a request whose client gave up during its latency, without carrying it out', async () => {
    await switchTo(sandbox, { latency: 1 })
    const asked = exchange(submission(), post(1))
    await waiting()
    asked.hangUp()
    await expect.poll(() => struckLines(sandbox, before), patience).toHaveLength(1)
    await strikes('latency', { httpStatus: null, correlationId: null })
    await switchTo(sandbox, {})
    expect(await tasks()).toEqual([])
  })

  shows('reset-before', 'is reset, and no task comes of it', async () => {
    await switchTo(sandbox, { 'reset-before': 1 })
    const answer = await wire(submission(), post(1))
    expect([answer.end, answer.framed.length]).toEqual(['reset', 0])
    await strikes('reset-before', { method: 'POST', httpStatus: null, correlationId: null })
    await switchTo(sandbox, {})
    expect(await tasks()).toEqual([])
  })

  shows('unauthorised', 'is refused though its key is good', async () => {
    await switchTo(sandbox, { unauthorised: 1 })
    const answer = await wire(unitTypes())
    expect([answer.status, json<ErrorBody>(answer).errorCode]).toEqual([401, 'api_key_unknown'])
    await strikes('unauthorised', { httpStatus: 401, profileId: 4711 })
  })

  const limited = async (name: string): Promise<string | undefined> => {
    await switchTo(sandbox, { [name]: 1 })
    const answer = await wire(submission(), post(1))
    expect([answer.status, json<ErrorBody>(answer).errorCode]).toEqual([429, 'rate_limited'])
    await strikes(name, { httpStatus: 429 })
    return answer.headers['retry-after']
  }
  shows('rate-limited:seconds', 'is refused for a number of seconds', async () => {
    expect(await limited('rate-limited:seconds')).toMatch(/^[123]$/)
  })
  shows('rate-limited:date', 'is refused until a time that is near', async () => {
    const until = Date.parse((await limited('rate-limited:date')) ?? '')
    expect(Math.abs(until - Date.now())).toBeLessThan(5000)
  })
  shows('rate-limited:nonsense', 'is refused for a time that nobody can read', async () => {
    const until = await limited('rate-limited:nonsense')
    expect([Number(until), Date.parse(until ?? '')]).toEqual([Number.NaN, Number.NaN])
  })
  shows('rate-limited', 'is refused with every form of Retry-After in the course of time', async () => {
    await switchTo(sandbox, { 'rate-limited': 1 })
    const seen = new Set<string>()
    for (let request = 0; request < 30; request += 1) {
      const answer = await wire(unitTypes())
      expect(answer.status).toBe(429)
      const until = answer.headers['retry-after'] ?? ''
      seen.add(/^\d+$/.test(until) ? 'seconds' : Number.isNaN(Date.parse(until)) ? 'nonsense' : 'date')
    }
    expect(seen).toEqual(new Set(['date', 'nonsense', 'seconds']))
    expect(await struckNames(sandbox, before)).toEqual([
      'rate-limited:date',
      'rate-limited:nonsense',
      'rate-limited:seconds',
    ])
  })

  const failsWith = async (name: string): Promise<number | null> => {
    await switchTo(sandbox, { [name]: 1 })
    const answer = await wire(submission(), post(1))
    expect(json<ErrorBody>(answer)).toEqual({ errorCode: expect.any(String), message: expect.any(String) })
    await strikes(name, { httpStatus: answer.status, correlationId: null })
    return answer.status
  }
  shows('server-error:500', 'fails', async () => expect(await failsWith('server-error:500')).toBe(500))
  shows('server-error:502', 'fails', async () => expect(await failsWith('server-error:502')).toBe(502))
  shows('server-error:503', 'fails', async () => expect(await failsWith('server-error:503')).toBe(503))
  shows('server-error:504', 'fails', async () => expect(await failsWith('server-error:504')).toBe(504))
  shows('server-errors', 'fails with each status in the course of time', async () => {
    await switchTo(sandbox, { 'server-errors': 1 })
    const seen = new Set<number | null>()
    for (let request = 0; request < 40; request += 1) seen.add((await wire(unitTypes())).status)
    expect(seen).toEqual(new Set([500, 502, 503, 504]))
  })
})

describe('what happens to an answer', () => {
  /** A request that was queued, whatever came of its answer, with its line. */
  const queued = async (name: string): Promise<Received> => {
    await switchTo(sandbox, { [name]: 1 })
    const answer = await wire(submission(), post(1))
    const line = await theLine()
    expect(line).toMatchObject({ httpStatus: 200, phase: 'received', status: 'Pending', chaos: [name] })
    await switchTo(sandbox, {})
    expect((await tasks()).map(({ correlationId }) => correlationId)).toContain(line.correlationId)
    return answer
  }

  shows('lost-answer', 'is reset although the request became a task', async () => {
    const answer = await queued('lost-answer')
    expect([answer.end, answer.framed.length]).toEqual(['reset', 0])
  })

  shows('late-server-errors', 'says 502 although the request became a task', async () => {
    const answer = await queued('late-server-errors')
    expect([answer.status, json<ErrorBody>(answer).errorCode]).toEqual([502, 'bad_gateway'])
  })

  shows('garbage-answer', 'is no HTTP', async () => {
    const answer = await queued('garbage-answer')
    expect([answer.status, answer.end]).toEqual([null, 'closed'])
    expect(answer.framed.toString('latin1')).toContain('not even close')
  })

  shows('html-answer', 'is a page of HTML with 200', async () => {
    const answer = await queued('html-answer')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect([answer.isWhole, answer.body.toString()]).toEqual([true, expect.stringMatching(/^<!DOCTYPE html>/)])
  })

  shows('stalled-answer', 'stops in the middle of its body, and the connection stays open', async () => {
    await switchTo(sandbox, { 'stalled-answer': 1 })
    const asked = exchange(unitTypes())
    const begun = await asked.until(({ body }) => body.length > 0)
    await switchTo(sandbox, {})
    const good = await wire(unitTypes())
    expect(good.isWhole).toBe(true)
    expect(begun.headers['content-length']).toBe(String(good.body.length))
    expect(begun.body.length).toBeLessThan(good.body.length)
    expect(good.body.subarray(0, begun.body.length)).toEqual(begun.body)
    expect([asked.ended(), asked.received().length]).toEqual([null, begun.framed.length + headLength(asked.received())])
    asked.hangUp()
    await strikes('stalled-answer', { httpStatus: 200 })
  })

  const cut = async (name: string): Promise<Received> => {
    const good = await wire(unitTypes())
    await switchTo(sandbox, { [name]: 1 })
    const answer = await wire(unitTypes())
    expect(answer.status).toBe(200)
    expect(answer.end).toBe('closed')
    expect(answer.body.length).toBeLessThan(good.body.length)
    expect(good.body.subarray(0, answer.body.length)).toEqual(answer.body)
    expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([[name]])
    return answer
  }
  shows('cut-answer:length', 'ends before its Content-Length', async () => {
    const answer = await cut('cut-answer:length')
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(answer.body.length)
  })
  shows('cut-answer:chunked', 'ends without its last chunk', async () => {
    const answer = await cut('cut-answer:chunked')
    expect([answer.headers['transfer-encoding'], answer.isWhole]).toEqual(['chunked', false])
  })
  shows('cut-answer:clean', 'looks whole, and is no JSON', async () => {
    const answer = await cut('cut-answer:clean')
    expect(answer.isWhole).toBe(true)
    expect(() => json(answer)).toThrow(SyntaxError)
  })
  shows('cut-answer', 'is cut in each way in the course of time', async () => {
    await switchTo(sandbox, { 'cut-answer': 1 })
    for (let request = 0; request < 25; request += 1) await wire(unitTypes())
    expect(await struckNames(sandbox, before)).toEqual(['cut-answer:chunked', 'cut-answer:clean', 'cut-answer:length'])
  })

  shows('slow-bytes', 'comes a byte a second', async () => {
    await switchTo(sandbox, { 'slow-bytes': 1 })
    const asked = exchange(unitTypes())
    for (const bytes of [1, 2, 3]) {
      const { body } = await asked.until((received) => received.body.length >= bytes)
      expect(body).toHaveLength(bytes)
      clock.advance(1000)
    }
    asked.hangUp()
    await strikes('slow-bytes', { httpStatus: 200 })
  })

  it('a byte a second is whole in the end', async () => {
    await switchTo(sandbox, { 'slow-bytes': 1 })
    const asked = exchange(`${sandbox.url}${contract.endpoints.tasks.path}`, { key: 'other-key' })
    for (let bytes = 1; bytes <= '[]'.length; bytes += 1) {
      await asked.until(({ body }) => body.length === bytes)
      clock.advance(1000)
    }
    expect(await asked.end()).toMatchObject({ isWhole: true, body: Buffer.from('[]') })
  })
})

describe('what stands in an answer', () => {
  shows('shuffled-keys', 'says the same in another order', async () => {
    const good = await wire(unitTypes())
    await switchTo(sandbox, { 'shuffled-keys': 1 })
    const answer = await wire(unitTypes())
    expect(json(answer)).toEqual(json(good))
    const keysOf = (received: Received) => json<object[]>(received).map((unitType) => Object.keys(unitType))
    expect(keysOf(answer)).not.toEqual(keysOf(good))
    await strikesOnce('shuffled-keys')
  })

  shows('unknown-fields', 'has members that nobody knows in every object', async () => {
    type Open = Record<string, unknown> & { units: Record<string, unknown>[] }
    const good = json<Open[]>(await wire(unitTypes()))
    await switchTo(sandbox, { 'unknown-fields': 1 })
    const answer = json<Open[]>(await wire(unitTypes()))
    expect(answer).toMatchObject(good)
    for (const object of some(answer.flatMap((unitType) => [unitType, ...unitType.units]))) {
      expect(object).toMatchObject({ introducedLater: expect.anything(), alsoNew: 'later' })
    }
    await strikesOnce('unknown-fields')
  })

  shows('unknown-error-codes', 'refuses with a code that nobody knows', async () => {
    await switchTo(sandbox, { 'unknown-error-codes': 1 })
    const answer = await wire(unitTypes(), { key: null })
    expect([answer.status, json<ErrorBody>(answer)]).toEqual([
      401,
      { errorCode: 'introduced_later_get', message: expect.any(String) },
    ])
    await strikes('unknown-error-codes', { httpStatus: 401, profileId: null })
  })

  it('leaves an answer that is no refusal without an error code', async () => {
    await switchTo(sandbox, { 'unknown-error-codes': 1 })
    expect(json(await wire(unitTypes()))).toBeInstanceOf(Array)
    expect(await struckLines(sandbox, before)).toEqual([])
  })
})

it('the sandbox does not keep a sandbox from closing: what waits, stalls or trickles is broken off', async () => {
  const ending = await openSandbox({ clock: manualClock() })
  const asked = []
  for (const profile of ['latency', 'stalled-answer', 'slow-bytes']) {
    await switchTo(ending, { [profile]: 1 })
    const one = exchange(`${ending.url}${contract.endpoints.unitTypes.path}`)
    if (profile !== 'latency') await one.until(({ body }) => body.length > 0)
    asked.push(one)
  }
  await ending.close()
  for (const one of some(asked)) expect((await one.end()).isWhole).toBe(false)
})

describe('an import with a rejected row', () => {
  const several = (...numbers: number[]) => ({ method: 'POST', body: mapHotels(...numbers) })
  const refusal = (status: number, errorCode: string) => [status, { errorCode, message: expect.any(String) }]
  const answerTo = async (...numbers: number[]) => {
    const answer = await wire(submission(), several(...numbers))
    return [answer.status, json<ErrorBody>(answer)]
  }

  shows('refused-rows', 'is refused as a whole, the same in every request, and taken without it', async () => {
    const share = 0.2
    await switchTo(sandbox, { 'refused-rows': share })
    const isRefused = (number: number) =>
      createChaos(seed, new Map([['refused-rows', share]])).fate('refused-rows', rowOccasion(partnerId(number)))
    const numbers = Array.from({ length: 30 }, (_, at) => at + 1)
    const [refused = 0] = numbers.filter(isRefused)
    const sound = numbers.filter((number) => !isRefused(number))
    const known = (await tasks()).length
    const alone = await answerTo(refused)
    expect([400, 422]).toContain(alone[0])
    expect(await answerTo(...sound, refused)).toEqual(alone)
    expect(await tasks()).toHaveLength(known)
    expect((await wire(submission(), several(...sound))).status).toBe(200)
    expect(await tasks()).toHaveLength(known + 1)
    const names = (await struckLines(sandbox, before)).map(({ chaos, httpStatus }) => [chaos, httpStatus])
    expect(names).toEqual([1, 2].map(() => [[`refused-rows:${Number(alone[0])}`], alone[0]]))
  })

  shows('refused-rows:400', 'is refused with 400', async () => {
    await switchTo(sandbox, { 'refused-rows:400': 1 })
    expect(await answerTo(1)).toEqual(refusal(400, 'request_invalid'))
    await strikes('refused-rows:400', { httpStatus: 400 })
  })

  shows('refused-rows:422', 'is refused with 422', async () => {
    await switchTo(sandbox, { 'refused-rows:422': 1 })
    expect(await answerTo(1)).toEqual(refusal(422, 'request_unprocessable'))
    await strikes('refused-rows:422', { httpStatus: 422 })
  })
})

describe('what is never struck', () => {
  it('the administration, the description, and where there is no endpoint', async () => {
    await switchTo(sandbox, { 'reset-before': 1 })
    const description = contract.otherEndpoints.description.path
    for (const [path, status] of [
      ['/sandbox/chaos', 200],
      ['/sandbox/log', 200],
      [description, 200],
      ['/nowhere', 404],
    ] as const) {
      expect([path, (await wire(`${sandbox.url}${path}`)).status]).toEqual([path, status])
    }
    expect(await struckLines(sandbox, before)).toEqual([])
  })
})

async function strikesOnce(name: string): Promise<void> {
  expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([[name]])
}

function headLength(bytes: Buffer): number {
  return bytes.indexOf('\r\n\r\n') + 4
}

async function waiting(): Promise<void> {
  await expect.poll(() => delayed, patience).toBe(1)
}
