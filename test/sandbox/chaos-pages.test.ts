import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PageCaseName, pageCases } from '../../src/sandbox/chaos/page-cases/page-cases.ts'
import { some } from '../helpers/some.ts'
import { fill, pageUrls, search } from './chaos-pages-world.ts'
import { json, wire } from './chaos-wire.ts'
import { readLog, shows, struckLines, switchTo } from './chaos-world.ts'
import type { Page, Task } from './documents.ts'
import { type OpenSandbox, openSandbox } from './open-sandbox.ts'

let sandbox: OpenSandbox
let task: Task
const keyless = { key: null }
beforeAll(async () => {
  // The first company of the page has calculators: hotel 1 is the service's company number 1.
  sandbox = await openSandbox({ companies: 4 })
  await fill(sandbox)
  task = await search(sandbox)
})
afterAll(() => sandbox.close())

/** A page as it came: its text, what it says as far as it is JSON, and what the good page says. */
type Seen = { bytes: Buffer; text: string; said: unknown; page: Loose; first: Loose; good: Page }
type Loose = Record<string, unknown>

/** What must hold of the page that a case made. */
const noJson = ({ said }: Seen) => said === undefined
const says = (wanted: unknown) => (seen: Seen) => JSON.stringify(seen.said) === JSON.stringify(wanted)
const text = (pattern: RegExp) => (seen: Seen) => pattern.test(seen.text)
const both =
  (...conditions: ((seen: Seen) => boolean)[]) =>
  (seen: Seen) =>
    conditions.every((holds) => holds(seen))
/** The rest of the page is as it was. */
const company = (holds: (first: Loose, seen: Seen) => boolean) => (seen: Seen) =>
  holds(seen.first, seen) && same(companiesOf(seen).slice(1), seen.good.companies.slice(1))
const calculator = (holds: (found: Loose) => boolean) => company((first) => holds(calculatorsOf(first)[0] ?? {}))
const period = (holds: (period: Loose) => boolean) => calculator(({ period: found }) => holds(found as Loose))
const input = (value: unknown) => calculator(({ inputs }) => same(Object.values(inputs as Loose)[0], value))

const companiesOf = ({ page }: Seen) => page.companies as Loose[]
const calculatorsOf = (company: Loose) => company.calculators as Loose[]
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const seenAs: Record<Exclude<PageCaseName, 'long-string'>, (seen: Seen) => boolean> = {
  empty: ({ bytes }) => bytes.length === 0,
  'white-space-alone': text(/^\s+$/),
  'empty-object': says({}),
  'array-at-the-top': says([]),
  'text-at-the-top': says('companies'),
  'null-at-the-top': says(null),
  html: both(noJson, text(/^<html>/)),
  'companies-missing': ({ page }) => !('companies' in page) && Array.isArray(page.customProperties),
  'companies-null': says({ companies: null }),
  'companies-object': says({ companies: {} }),
  'companies-text': says({ companies: '[]' }),
  'companies-in-other-letters': says({ Companies: [] }),
  'companies-twice': (seen) => same(seen.page.companies, []) && seen.text.match(/"companies":\[/g)?.length === 2,
  'companies-nested-deeper': ({ said, good }) => same(said, { page: good }),
  'variables-null': ({ page, good }) => page.calculatorVariables === null && same(page.companies, good.companies),
  'variables-twice': (seen) => seen.text.match(/"calculatorVariables":/g)?.length === 2,
  'properties-object': ({ page }) => same(page.customProperties, {}),
  'trailing-garbage': both(noJson, text(/\]\} x$/)),
  'bracket-too-many': both(noJson, text(/\]\}\}$/)),
  'two-documents': both(noJson, text(/\]\}\n\{"companies":\[\]\}$/)),
  'nul-behind-the-end': ({ bytes, said }) => said === undefined && bytes.at(-1) === 0,
  'comment-in-the-text': both(noJson, text(/\/\* none \*\/\]\}$/)),
  'comma-too-many': both(noJson, text(/\},\]\}$/)),
  'byte-order-mark': ({ bytes }) => bytes.subarray(0, 4).equals(Buffer.from([0xef, 0xbb, 0xbf, 0x7b])),
  'two-byte-order-marks': ({ bytes }) => bytes.subarray(3, 7).equals(Buffer.from([0xef, 0xbb, 0xbf, 0x7b])),
  'utf-16': ({ bytes }) => same(JSON.parse(bytes.toString('utf16le')), { companies: [] }),
  'invalid-utf-8': ({ bytes }) => isNoUtf8(bytes) && bytes.includes(0xff),
  'overlong-encoding': ({ bytes }) => isNoUtf8(bytes) && bytes.includes(Buffer.from([0xc0, 0xaf])),
  'encoded-surrogate': ({ bytes }) => isNoUtf8(bytes) && bytes.includes(Buffer.from([0xed, 0xa0, 0x80])),
  'single-quotes': both(noJson, text(/'note':'x'/)),
  'line-end-in-a-string': both(noJson, text(/"a\nb"/)),
  'unknown-escape': both(noJson, text(/"\\x41"/)),
  'not-a-number': both(noJson, text(/:NaN,/)),
  'leading-zero': both(noJson, text(/:02025,/)),
  'duplicate-keys': (seen) => seen.text.match(/\{"id":"0{8}-[^"]+","id":"/) !== null,
  'proto-key': ({ first }) => Object.hasOwn(first, '__proto__'),
  'million-levels': text(/"companies":\[\{"note":\[{1000000}\]{1000000},"id"/),
  'million-levels-elsewhere': text(/^\{"introducedLater":\[{1000000}\]{1000000},/),
  'company-null': (seen) => companiesOf(seen)[0] === null && companiesOf(seen).length === seen.good.companies.length,
  'company-without-id': company((first) => !('id' in first) && 'name' in first),
  'company-id-no-uuid': company(({ id }) => typeof id === 'string' && !uuid.test(id)),
  'company-id-number': company(({ id }) => typeof id === 'number'),
  'company-name-number': company(({ name }) => typeof name === 'number'),
  'company-twice': (seen) => companiesOf(seen).filter((each) => same(each, seen.good.companies[0])).length === 2,
  'calculators-missing': company((first) => !('calculators' in first)),
  'calculators-null': company(({ calculators }) => calculators === null),
  'calculators-object': company(({ calculators }) => same(calculators, {})),
  'fields-array': company(({ fields }) => Array.isArray(fields)),
  'lone-surrogate': company(({ name }) => typeof name === 'string' && !name.isWellFormed()),
  'nul-character': company(({ name }) => typeof name === 'string' && name.includes('\0')),
  'calculator-id-no-uuid': calculator(({ id }) => !uuid.test(String(id))),
  'type-id-no-uuid': calculator(({ typeId }) => !uuid.test(String(typeId))),
  'period-missing': calculator((found) => !('period' in found)),
  'period-text': calculator(({ period: found }) => typeof found === 'string'),
  'year-missing': period((found) => !('year' in found) && 'month' in found),
  'year-text': period(({ year }) => year === '2025'),
  'year-fraction': period(({ year }) => year === 2025.5),
  'month-misspelt': period(({ month }) => month === 'Febuary'),
  'month-short': period(({ month }) => month === 'Mar'),
  'month-number': period(({ month }) => month === 3),
  'month-on-yearly': calculator(
    ({ title, period: found }) => /year 2025$/.test(String(title)) && (found as Loose).month === 'January',
  ),
  'inputs-array': calculator(({ inputs }) => Array.isArray(inputs)),
  'value-number': input(12.5),
  'value-null': input(null),
  'value-object': input({}),
  'value-nul-character': input('a\0b'),
  'variable-not-listed': (seen) => {
    const listed = (seen.page.calculatorVariables as { id: string }[]).map(({ id }) => id)
    const used = companiesOf(seen)
      .flatMap(calculatorsOf)
      .flatMap(({ inputs }) => Object.keys(inputs as Loose))
    return used.filter((id) => !listed.includes(id)).length === 1
  },
  'calculator-under-two-companies': (seen) => {
    const [one = {}, other = {}] = companiesOf(seen)
    return one.id !== other.id && same(calculatorsOf(one)[0], calculatorsOf(other)[0])
  },
}

function isNoUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return false
  } catch {
    return true
  }
}

function parsed(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch {
    return undefined
  }
}

async function theUrl(of: Task): Promise<string> {
  const [url, ...others] = await pageUrls(sandbox, of)
  if (url === undefined || others.length > 0) throw new Error('the search has not one page')
  return url
}

/** What the first page of a search says without trouble, and what comes when the profile strikes it. */
async function see(name: string, of: Task): Promise<Seen> {
  await switchTo(sandbox, {})
  const url = await theUrl(of)
  const good = json<Page>(await wire(url, keyless))
  await switchTo(sandbox, { [name]: 1 })
  const came = await wire(url, keyless)
  expect([came.status, came.isWhole]).toEqual([200, true])
  const source = came.body.toString('utf8')
  const said = parsed(source)
  const page = (typeof said === 'object' && said !== null ? said : {}) as Loose
  const companies = Array.isArray(page.companies) ? (page.companies as Loose[]) : []
  return { bytes: came.body, text: source, said, page, first: companies[0] ?? {}, good }
}

describe('a malformed page', () => {
  it.each(Object.entries(seenAs))(
    'malformed-page:%s is what its name says, and stands in the log',
    async (name, holds) => {
      const before = (await readLog(sandbox)).at(-1)?.id ?? 0
      const seen = await see(`malformed-page:${name}`, task)
      expect(holds(seen)).toBe(true)
      expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([[`malformed-page:${name}`]])
    },
  )

  it('a malformed page shows one of the known page faults', () => {
    expect([...Object.keys(seenAs), 'long-string'].toSorted()).toEqual(Object.keys(pageCases).toSorted())
    expect(Object.keys(pageCases).length).toBeGreaterThanOrEqual(45)
  })

  it.each(Object.keys(pageCases).filter((name) => name !== 'long-string'))(
    'malformed-page:%s can also be made of a page without companies, if it is one of calculators',
    async (name) => {
      await switchTo(sandbox, {})
      const empty = await sandbox.run('calculatorsSearch', {}, 'certifier-key')
      const url = (await sandbox.task(empty.correlationId, 'certifier-key')).pageUrls?.[0] ?? ''
      await switchTo(sandbox, {})
      const good = await wire(url, keyless)
      expect(json<Page>(good).companies).toEqual([])
      await switchTo(sandbox, { [`malformed-page:${name}`]: 1 })
      const bad = await wire(url, keyless)
      expect([bad.status, bad.isWhole, bad.body.equals(good.body)]).toEqual([200, true, false])
    },
  )

  shows('malformed-pages', 'is of many cases in the course of time', async () => {
    const before = (await readLog(sandbox)).at(-1)?.id ?? 0
    await switchTo(sandbox, { 'malformed-pages': 1, 'pages-cut:clean': 1 })
    const url = await theUrl(task)
    for (let request = 0; request < 60; request += 1) await wire(url, keyless)
    const named = new Set((await struckLines(sandbox, before)).map(({ chaos }) => chaos?.[0]))
    expect(named.size).toBeGreaterThan(30)
    for (const name of some(named)) expect(name).toMatch(/^malformed-page:/)
  })

  it('a malformed page that only a page of calculators can be is no other file', async () => {
    await switchTo(sandbox, {})
    const standards = await sandbox.run('standardsSearch', {})
    const before = (await readLog(sandbox)).at(-1)?.id ?? 0
    await switchTo(sandbox, { 'malformed-page:year-missing': 1, 'malformed-page:trailing-garbage': 1 })
    const page = await wire(await theUrl(standards), keyless)
    expect(page.body.toString()).toMatch(/\]\} x$/)
    expect((await struckLines(sandbox, before)).map(({ chaos }) => chaos)).toEqual([
      ['malformed-page:trailing-garbage'],
    ])
  })
})
