import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../db/ledger/ledger.ts'
import { bodyOf, company, type SampleCompany, samplePage } from '../pipeline/pull/sample-page.ts'
import { searchDatabase } from '../pipeline/pull/search-database.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const companies = ['A', 'B', 'C'].map((name) => company(name))

/** The hotel H-1, which is the first of these companies, and what a trace says of it. */
async function openHotel() {
  const database = await searchDatabase()
  onTestFinished(() => database[Symbol.asyncDispose]())
  const ledger = await openLedger(database.url)
  onTestFinished(() => ledger.close())
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: {} }], true)
  const { submission_id } = await database.db
    .insertInto('submission')
    .values({ run_id: 1, kind: 'company_mappings', state: 'settled', row_count: 1 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  await database.db
    .insertInto('mapping')
    .values({ partner_id: 'H-1', company_id: company('A').id, submission_id })
    .execute()

  /** A night whose search shows these companies. @param failed whether another page could not be loaded. */
  const night = async (shown: SampleCompany[], failed = false) => {
    const [page, other] = await database.search(failed ? 2 : 1)
    if (page === undefined) throw new Error('no page was listed')
    await database.load(page, bodyOf(samplePage(shown)))
    if (other !== undefined) {
      const lost = { state: 'failed' as const, error_code: 'page_malformed' }
      await database.db.updateTable('search_page').set(lost).where('page_id', '=', other.page_id).execute()
    }
    await database.finish(page.submission_id)
  }
  const trace = async () => {
    const { code, stdout, stderr } = await nightferry(folder.path, ['trace', 'H-1'], { DATABASE_URL: database.url })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }
  return { night, trace }
}

test('the trace says since when no search has shown the company of a hotel, and not that it came back last night', async () => {
  const { night, trace } = await openHotel()
  await night(companies)
  expect(await trace()).toContain('1 calculator came back.')
  await night(companies.slice(2))
  const text = await trace()
  const unrenewed = /its company is not renewed since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(too_few_companies\)/.source
  expect(text).not.toContain('came back.')
  expect(text).toMatch(new RegExp(`1 calculator stands; ${unrenewed}\\.`))
  expect(text).toMatch(new RegExp(`What came back\n.*${unrenewed}`))
})

test('the trace says how many calculators of a hotel the last search did not renew', async () => {
  const { night, trace } = await openHotel()
  await night(companies)
  await night(companies.map((one) => ({ ...one, calculators: [] })))
  expect(await trace()).toMatch(/1 calculator stands; 1 of them not renewed since \d{4}-/)
})

test('the trace counts what came back although no search was loaded whole', async () => {
  const { night, trace } = await openHotel()
  await night(companies, true)
  expect(await trace()).toMatch(
    /What came back\n {2}1 calculator, last changed .*; no search has been loaded whole yet/,
  )
})
