import { Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decompressionBomb } from '../../src/sandbox/chaos/decompression-bomb.ts'
import { some } from '../helpers/some.ts'
import { mapHotels } from './bodies.ts'
import { companyIds, fill, pageUrls, search } from './chaos-pages-world.ts'
import { exchange, json, type Received, wire } from './chaos-wire.ts'
import { readLog, shows, struckLines, struckNames, switchTo } from './chaos-world.ts'
import type { ErrorBody, MappingFile, Page, Task } from './documents.ts'
import { manualClock } from './manual-clock.ts'
import { type OpenSandbox, openSandbox } from './open-sandbox.ts'

let sandbox: OpenSandbox
const clock = manualClock()
let task: Task
let before: number
const keyless = { key: null }
const gzip = { key: null, headers: { 'accept-encoding': 'gzip' } }
beforeAll(async () => {
  sandbox = await openSandbox({ clock, pageSize: 20 })
  await fill(sandbox)
  task = await search(sandbox)
})
beforeEach(async () => {
  await switchTo(sandbox, {})
  before = (await readLog(sandbox)).at(-1)?.id ?? 0
})
afterAll(() => sandbox.close())

const firstUrl = async () => (await pageUrls(sandbox, task))[0] ?? ''

/** The first page without and with trouble. Its line tells of the trouble, and to which task the page belongs. */
async function struck(name: string, sent = keyless): Promise<{ good: Received; bad: Received }> {
  const url = await firstUrl()
  const good = await wire(url, sent)
  expect(json<Page>(good).companies.length).toBeGreaterThan(0)
  await switchTo(sandbox, { [name]: 1 })
  const bad = await wire(url, sent)
  const lines = await struckLines(sandbox, before)
  expect(lines).toMatchObject([{ phase: 'received', correlationId: task.correlationId, chaos: [name] }])
  return { good, bad }
}

describe('instead of a result file', () => {
  shows('pages-expired', 'comes 403, whenever its address was given', async () => {
    const { bad } = await struck('pages-expired')
    expect([bad.status, json<ErrorBody>(bad).errorCode]).toEqual([403, 'file_address_expired'])
    expect((await wire(await firstUrl(), keyless)).status).toBe(403)
  })

  shows('pages-missing', 'comes 404', async () => {
    const { bad } = await struck('pages-missing')
    expect([bad.status, json<ErrorBody>(bad).errorCode]).toEqual([404, 'file_not_found'])
  })

  const redirected = async (name: string): Promise<URL> => {
    const { bad } = await struck(name)
    expect([bad.status, bad.isWhole, bad.body.length]).toEqual([302, true, 0])
    return new URL(bad.headers.location ?? '')
  }
  shows('redirect-elsewhere:unknown-host', 'comes the address of a host that does not exist', async () => {
    expect((await redirected('redirect-elsewhere:unknown-host')).hostname).toMatch(/\.invalid$/)
  })
  shows('redirect-elsewhere:private-address', 'comes an address of a private network', async () => {
    expect((await redirected('redirect-elsewhere:private-address')).hostname).toBe('169.254.169.254')
  })
  shows('redirect-elsewhere:other-name', 'comes the same file under another host name', async () => {
    const elsewhere = await redirected('redirect-elsewhere:other-name')
    expect(elsewhere.hostname).toBe('localhost')
    await switchTo(sandbox, {})
    const followed = await fetch(elsewhere)
    expect([followed.status, (await followed.json()) as Page]).toEqual([200, json(await wire(await firstUrl()))])
  })
  shows('redirect-elsewhere', 'comes each kind of redirect in the course of time', async () => {
    const url = await firstUrl()
    await switchTo(sandbox, { 'redirect-elsewhere': 1 })
    for (let request = 0; request < 25; request += 1) expect((await wire(url, keyless)).status).toBe(302)
    expect(await struckNames(sandbox, before)).toHaveLength(3)
  })
})

describe('how a result file is sent', () => {
  shows('pages-stalled', 'stops before its end, and the connection stays open', async () => {
    const url = await firstUrl()
    const good = await wire(url, keyless)
    await switchTo(sandbox, { 'pages-stalled': 1 })
    const asked = exchange(url, keyless)
    const begun = await asked.until(({ body }) => body.length > 0)
    await switchTo(sandbox, {})
    expect((await wire(url, keyless)).isWhole).toBe(true)
    expect(begun.headers['content-length']).toBe(String(good.body.length))
    expect(begun.body.length).toBeLessThan(good.body.length)
    expect(asked.ended()).toBeNull()
    asked.hangUp()
    expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([['pages-stalled']])
  })

  const cut = async (name: string): Promise<Received> => {
    const { good, bad } = await struck(name)
    expect([bad.status, bad.end]).toEqual([200, 'closed'])
    expect(bad.body.length).toBeLessThan(good.body.length)
    expect(good.body.subarray(0, bad.body.length)).toEqual(bad.body)
    return bad
  }
  shows('pages-cut:length', 'ends before its Content-Length', async () => {
    const page = await cut('pages-cut:length')
    expect(Number(page.headers['content-length'])).toBeGreaterThan(page.body.length)
  })
  shows('pages-cut:chunked', 'ends without its last chunk', async () => {
    const page = await cut('pages-cut:chunked')
    expect([page.headers['transfer-encoding'], page.isWhole]).toEqual(['chunked', false])
  })
  shows('pages-cut:clean', 'looks whole, and is no JSON', async () => {
    const page = await cut('pages-cut:clean')
    expect(page.isWhole).toBe(true)
    expect(() => json(page)).toThrow(SyntaxError)
  })
  it('cuts what is gzipped too', async () => {
    const { bad } = await struck('pages-cut:clean', gzip)
    expect([bad.headers['content-encoding'], bad.isWhole]).toEqual(['gzip', true])
    expect(() => gunzipSync(bad.body)).toThrow('unexpected end of file')
  })
  shows('pages-cut', 'is cut in each way in the course of time', async () => {
    const url = await firstUrl()
    await switchTo(sandbox, { 'pages-cut': 1 })
    for (let request = 0; request < 25; request += 1) await wire(url, keyless)
    expect(await struckNames(sandbox, before)).toEqual(['pages-cut:chunked', 'pages-cut:clean', 'pages-cut:length'])
  })

  shows('pages-slow', 'comes a byte a second', async () => {
    const url = await firstUrl()
    await switchTo(sandbox, { 'pages-slow': 1 })
    const asked = exchange(url, keyless)
    for (const bytes of [1, 2, 3]) {
      expect((await asked.until(({ body }) => body.length >= bytes)).body).toHaveLength(bytes)
      clock.advance(1000)
    }
    asked.hangUp()
    expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([['pages-slow']])
  })

  shows('gzip-unannounced', 'is gzipped, and no header says so, whether it was asked for or not', async () => {
    for (const sent of [keyless, gzip]) {
      await switchTo(sandbox, {})
      before = (await readLog(sandbox)).at(-1)?.id ?? 0
      const { good, bad } = await struck('gzip-unannounced', sent)
      expect(bad.headers).not.toHaveProperty('content-encoding')
      expect(bad.isWhole).toBe(true)
      expect(JSON.parse(gunzipSync(bad.body).toString())).toEqual(json(good))
    }
  })

  shows('gzip-announced-only', 'is plain, though a header says that it is gzipped', async () => {
    const { good, bad } = await struck('gzip-announced-only', gzip)
    expect([bad.headers['content-encoding'], bad.isWhole]).toEqual(['gzip', true])
    expect(JSON.parse(bad.body.toString())).toEqual(json(good))
    expect(() => gunzipSync(bad.body)).toThrow('incorrect header check')
  })

  shows('decompression-bomb', 'is some megabytes that become more than a gigabyte', async () => {
    const url = await firstUrl()
    await switchTo(sandbox, { 'decompression-bomb': 1 })
    const bomb = await wire(url, gzip)
    expect([bomb.headers['content-encoding'], bomb.isWhole]).toEqual(['gzip', true])
    expect(bomb.body.length).toBeLessThan(16 * 1024 ** 2)
    let unpacked = 0
    for await (const piece of Readable.from([bomb.body]).pipe(createGunzip({ chunkSize: 1024 ** 2 }))) {
      unpacked += (piece as Buffer).length
      if (unpacked > 1024 ** 3) break
    }
    expect(unpacked).toBeGreaterThan(1024 ** 3)
    expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([['decompression-bomb']])
  })

  it('a bomb is a good gzip file with a good document in it', async () => {
    const pieces: Buffer[] = []
    for await (const piece of decompressionBomb('companies', 2)) pieces.push(piece)
    expect(JSON.parse(gunzipSync(Buffer.concat(pieces)).toString())).toEqual({ companies: [] })
  })
})

describe('what stands in a result file', () => {
  shows('pages-shuffled', 'says the same in another order, and the addresses of pages change places', async () => {
    const good = await sandbox.task(task.correlationId)
    const { good: goodPage, bad } = await struck('pages-shuffled')
    expect(json(bad)).toEqual(json(goodPage))
    const keys = (received: Received) => [received, ...json<Page>(received).companies].map((each) => Object.keys(each))
    const top = (received: Received) => Object.keys(json<Page>(received))
    expect(top(bad)).not.toEqual(top(goodPage))
    expect(keys(bad).slice(1)).not.toEqual(keys(goodPage).slice(1))
    const shuffled = await sandbox.task(task.correlationId)
    const paths = ({ pageUrls: urls = [] }: Task) => urls.map((url) => new URL(url).pathname)
    expect(paths(shuffled)).not.toEqual(paths(good))
    expect(paths(shuffled).toSorted()).toEqual(paths(good).toSorted())
    expect((await struckLines(sandbox, before)).at(-1)).toMatchObject({ method: 'GET', chaos: ['pages-shuffled'] })
  })

  it('a result file with unknown fields has them in every object, and none among values that are keyed by ids', async () => {
    const { good, bad } = await struck('unknown-fields')
    const page = json<Page>(bad)
    expect(page).toMatchObject(json<Page>(good))
    const carrying = page.companies.find(({ calculators }) => calculators.length > 0)
    for (const object of [page, carrying, carrying?.calculators[0], page.customProperties?.[0]]) {
      expect(object).toHaveProperty('introducedLater')
    }
    const [calculator] = carrying?.calculators ?? []
    const original = json<Page>(good).companies.find(({ id }) => id === carrying?.id)
    expect(calculator?.inputs).toEqual(original?.calculators[0]?.inputs)
    expect(carrying?.fields).toEqual(original?.fields)
  })

  shows('company-on-two-pages', 'also has a company of the page beside it', async () => {
    const urls = await pageUrls(sandbox, task)
    const good = await Promise.all(urls.map(async (url) => json<Page>(await wire(url, keyless))))
    await switchTo(sandbox, { 'company-on-two-pages': 1 })
    const bad = await Promise.all(urls.map(async (url) => json<Page>(await wire(url, keyless))))
    for (const [index, page] of some(bad.entries())) {
      const beside = good[index === 0 ? 1 : index - 1]
      expect(page.companies).toEqual([...(good[index]?.companies ?? []), beside?.companies[0]])
    }
    expect(new Set(bad.flatMap(companyIds)).size).toBeLessThan(bad.flatMap(companyIds).length)
    const lines = await struckLines(sandbox, before)
    expect(lines.map(({ chaos }) => chaos)).toEqual(urls.map(() => ['company-on-two-pages']))
  })

  it('a result of a single page cannot be on two, and its line says nothing', async () => {
    await switchTo(sandbox, {})
    const mapped = await sandbox.run('companyMappings', mapHotels(1, 50))
    await switchTo(sandbox, { 'company-on-two-pages': 1 })
    const file = json<MappingFile>(await wire(mapped.file?.url ?? '', keyless))
    expect(file.companies).toHaveLength(2)
    expect(await struckLines(sandbox, before)).toEqual([])
  })

  it('what stands in a result file that is the only file of its task can be wrong too', async () => {
    const mapped = await sandbox.run('companyMappings', mapHotels(1, 50))
    await switchTo(sandbox, { 'malformed-page:comma-too-many': 1 })
    const file = await wire(mapped.file?.url ?? '', keyless)
    expect(file.body.toString()).toMatch(/^\{"companies":\[\{.*\},\]\}$/s)
  })

  it('what stands in a result file is not struck under an address that was forged', async () => {
    const url = await firstUrl()
    await switchTo(sandbox, { 'pages-expired': 1 })
    const answer = await wire(url.replace(/signature=./, 'signature=_'), keyless)
    expect(json<ErrorBody>(answer).errorCode).toBe('file_address_invalid')
    expect(await struckLines(sandbox, before)).toEqual([])
  })
})
