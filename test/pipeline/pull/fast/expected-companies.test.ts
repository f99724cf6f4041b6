import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { ExpectedCompanies, type MetCompany } from '../../../../src/pipeline/pull/fast/expected-companies.ts'
import { createContentHash } from '../../../../src/pipeline/pull/merge/known-companies.ts'
import { type Shortcut, splitPage } from '../../../../src/pipeline/reading/split-page.ts'
import { some } from '../../../helpers/some.ts'
import { defaultPageLimits } from '../limits.ts'
import { bodyOf, calculator, company, contract, type SampleCompany, samplePage } from '../sample-page.ts'
import { searchDatabase } from '../search-database.ts'

const database = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

const hashOf = createContentHash(contract, [])

/** Bytes of a page that arrive at a time: some companies in each. */
const pieceBytes = 4_000

let groups = 0

/** Companies that no other test has. */
function hotels(count: number): SampleCompany[] {
  const group = ++groups
  return Array.from({ length: count }, (_, index) => company(`group ${group}, hotel ${index}`))
}

async function load(companies: readonly SampleCompany[]) {
  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  return await database.load(page, bodyOf(samplePage([...companies]), pieceBytes))
}

/** How a page is read that is expected to be as it was: the ids of companies met again, and how many were cut out. */
async function reading(page: unknown): Promise<{ met: string[]; cut: number }> {
  const expected = new ExpectedCompanies(db, contract, hashOf)
  const shortcut: Shortcut<MetCompany> = {
    prepare: () => expected.prepare(),
    take: (chunk, at) => expected.meet(chunk, at),
  }
  const met: string[] = []
  let cut = 0
  for await (const elements of splitPage(bodyOf(page, pieceBytes), {
    contract,
    limits: defaultPageLimits,
    shortcut,
  })) {
    for (const element of elements) {
      if (element.kind === 'companyMet') met.push(element.company.company_id)
      else if (element.kind === 'companyBytes') cut++
    }
  }
  return { met, cut }
}

it('a page that comes as it was is met again, but for its first piece and what two pieces share', async () => {
  const companies = hotels(300)
  await load(companies)
  const page = samplePage(companies)
  const { met, cut } = await reading(page)
  expect(met.length + cut).toBe(300)
  const pieces = Math.ceil(JSON.stringify(page).length / pieceBytes)
  // Two pieces pass before the page is found among the companies; a company that a boundary cuts is read from its
  // bytes.
  expect(cut).toBeLessThan(3 * Math.ceil(300 / pieces) + pieces)
  expect(new Set(met).size).toBe(met.length)
  const ids = companies.map(({ id }) => id)
  for (const id of some(met)) expect(ids).toContain(id)
})

it('a company whose bytes differ in one place is cut out, also where it is as long as before', async () => {
  const companies = hotels(300)
  await load(companies)
  const before = await reading(samplePage(companies))
  const [at] = [companies.findIndex(({ id }) => id === before.met[100])]
  const changed = companies.with(at, {
    ...(companies[at] as SampleCompany),
    calculators: [calculator(`${companies[at]?.name}/1`, { inputs: { electricity: '1234.51' } })],
  })
  expect(JSON.stringify(changed).length).toBe(JSON.stringify(companies).length)
  const after = await reading(samplePage(changed))
  expect(before.met.filter((id) => !after.met.includes(id))).toEqual([companies[at]?.id])
  const counts = await load(changed)
  expect(counts).toMatchObject({ companies: 300, unchanged: 299, changed: 1 })
})

it('a page in another order, or without some of its companies, is read as it says', async () => {
  const companies = hotels(200)
  await load(companies)
  const mixed = companies.toSorted((one, other) => one.id.localeCompare(other.id)).filter((_, index) => index % 5 !== 0)
  const { met, cut } = await reading(samplePage(mixed))
  expect(met.length + cut).toBe(mixed.length)
  const ids = mixed.map(({ id }) => id)
  for (const id of some(met)) expect(ids).toContain(id)
  expect(await load(mixed)).toMatchObject({ companies: mixed.length, unchanged: mixed.length, changed: 0, added: 0 })
})

it('a company that a page shows twice is met once, and the page is loaded with care', async () => {
  const companies = hotels(120)
  await load(companies)
  const [twice] = companies.slice(-1)
  const page = [...companies, twice as SampleCompany]
  expect((await reading(samplePage(page))).met.filter((id) => id === twice?.id).length).toBeLessThan(2)
  expect(await load(page)).toMatchObject({ companies: 120, care: 'same_rows_twice' })
})

it('a company with more bytes behind it than it had is not met', async () => {
  const companies = hotels(120)
  await load(companies)
  const { met } = await reading(samplePage(companies))
  const longer = companies.map((one) => (one.id === met[50] ? { ...one, unknown: 'more' } : one))
  expect((await reading(samplePage(longer))).met).not.toContain(met[50])
})

it('what stands between companies is judged as ever where they are met again', async () => {
  const companies = hotels(120)
  await load(companies)
  const text = JSON.stringify(samplePage(companies))
  const last = text.lastIndexOf('},{"id"')
  const broken = `${text.slice(0, last + 1)} ${text.slice(last + 2)}`
  await expect(reading(broken)).rejects.toThrow("its text is not JSON (Parser cannot parse input: expected ',')")
  const spaced = text.replaceAll('},{"id"', '} ,\n {"id"')
  expect((await reading(spaced)).met.length).toBeGreaterThan(50)
})

it('how long a company is is kept when it is met the next time, where an older version did not keep it', async () => {
  const companies = hotels(120)
  await load(companies)
  const ids = companies.map(({ id }) => id)
  const unmeasured = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from company
      where company_id = any(${ids}::uuid[]) and content_bytes is null`.execute(db)
    return rows[0]?.count
  }
  await sql`update company set content_bytes = null where company_id = any(${ids}::uuid[])`.execute(db)
  expect((await reading(samplePage(companies))).met).toEqual([])
  expect(await load(companies)).toMatchObject({ unchanged: 120 })
  expect(await unmeasured()).toBe(0)
  expect((await reading(samplePage(companies))).met.length).toBeGreaterThan(50)
})
