import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { lockLoading } from '../../../src/db/locks/advisory-lock.ts'
import { loadPage } from '../../../src/pipeline/pull/load-page.ts'
import { defaultPageLimits } from './limits.ts'
import { bodyOf, company, contract, samplePage } from './sample-page.ts'
import { replayed, type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db, pool } = database
afterAll(() => database[Symbol.asyncDispose]())

it('the pull opens a page that has to wait for others only when it is loaded', async () => {
  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  let opened = 0
  const body = replayed(bodyOf(samplePage([company('A')])))
  const open = () => {
    opened++
    return body()
  }
  const options = { contract, limits: defaultPageLimits }
  const { loading, early } = await db.transaction().execute(async (trx) => {
    await lockLoading(trx, 'exclusive')
    const loading = loadPage(pool, page, open, options)
    await setTimeout(300)
    return { loading: { end: loading }, early: opened }
  })
  expect(await loading.end).toMatchObject({ companies: 1 })
  expect({ early, opened }).toEqual({ early: 0, opened: 1 })
})
