import { beforeEach, expect, it } from 'vitest'
import { tracePartner } from '../../../src/db/trace/trace-partner.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(async () => {
  await ledger.clear()
  await ledger.landChecked('properties', [{ partner_id: 'H-1', content: {} }], true)
  const mapped = await request('company_mappings')
  await ledger.db
    .insertInto('mapping')
    .values({ partner_id: 'H-1', company_id: '0b6c2f4e-0000-4000-8000-00000000000a', submission_id: mapped })
    .execute()
})

async function request(kind: string, state: 'settled' | 'abandoned' = 'settled'): Promise<number> {
  const { submission_id } = await ledger.db
    .insertInto('submission')
    .values({ run_id: await ledger.startRun(), kind, state, row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  return submission_id
}

/** A search with such pages, loaded a minute apart. */
async function search(hour: number, states: string[], state?: 'abandoned'): Promise<void> {
  const submission_id = await request('calculators_search', state)
  const pages = states.map((page, ordinal) => ({
    submission_id,
    ordinal,
    url: 'https://pages.example/',
    state: page,
    loaded_at: page === 'loaded' ? new Date(Date.UTC(2026, 10, 26, hour, ordinal)) : null,
  }))
  await ledger.db
    .insertInto('search_page')
    .values(pages as never)
    .execute()
}

const searchedAt = async () => (await tracePartner(ledger.db, 'H-1', {}, []))?.company?.searched_at ?? null

it('the last search is the one of which every page was loaded, not one under way, with a failed page or given up', async () => {
  expect(await searchedAt()).toBeNull()
  await search(1, ['loaded', 'loaded'])
  const ended = new Date('2026-11-26T01:01:00Z')
  expect(await searchedAt()).toEqual(ended)
  await search(2, ['loaded', 'listed'])
  await search(3, ['loaded', 'failed'])
  await search(4, ['loaded'], 'abandoned')
  expect(await searchedAt()).toEqual(ended)
})
