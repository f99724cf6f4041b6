import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { plainKinds, removePlain } from '../../src/db/housekeeping/old-kinds.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { expectNews, tellNews } from '../../src/jobs/tell-news.ts'
import { some } from '../helpers/some.ts'
import { json, service } from '../pipeline/push/service.ts'
import { depsFor, ended, events, ferry, hook, stored, withNews } from './news-world.ts'

withNews()

it('the reports of ends that are no news any more are not read when a receiver is named again, and the others one at a time', async () => {
  await using server = await service({ [hook]: [json({}), json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  for (let night = 0; night < 3; night++) await ended('partial')
  ferry.clock.pass(2 * 86_400_000)
  await ended('failed', 'exchange_unreachable')
  await ended('failed', 'exchange_unauthorized')
  const read: number[] = []
  const db = deps.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      read.push(result.rows.filter((row) => 'report' in row).length)
      return Promise.resolve(result)
    },
  })
  await tellNews({ ...deps, db }, nightlySync)
  expect(read.filter((reports) => reports > 0)).toEqual([1, 1])
  expect(events(server)).toEqual(['failed', 'failed'])
  const mark = await ferry.ledger.db.selectFrom('notification_mark').select('run_id').executeTakeFirstOrThrow()
  const newest = await sql<{ run_id: number }>`select max(run_id) as run_id from run`.execute(ferry.ledger.db)
  expect(mark.run_id).toBe(newest.rows[0]?.run_id)
})

async function removeOld(): Promise<void> {
  const before = new Date(ferry.clock.at.getTime() + 1_000)
  for (const kind of some(plainKinds.notifications ?? [])) await removePlain(ferry.ledger.db, kind, before)
}

it('notifications of which nobody is told go when they are old, all but the newest', async () => {
  await using server = await service({ '/beat': [] })
  const deps = depsFor(server, { url: null, heartbeatUrl: `${server.url}/beat` })
  await expectNews(deps, nightlySync)
  for (const code of ['exchange_unreachable', 'partner_unreachable', 'exchange_unauthorized']) {
    await ended('failed', code)
    await tellNews(deps, nightlySync)
  }
  await ferry.ledger.db
    .insertInto('notification')
    .values({ ...untold, event: 'late', cause: 'late' })
    .execute()
  expect(await stored()).toHaveLength(4)
  await removeOld()
  expect(await stored()).toMatchObject([{ event: 'failed', cause: expect.stringContaining('unauthorized') }])
})

const untold = {
  job: nightlySync.name,
  message: JSON.stringify({}),
  created_at: new Date('2026-11-21T02:00:00Z'),
  next_at: null,
}

it('notifications of trouble that is over go when they are old although nobody wants to be told that it is over', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server, { on: ['failed'] })
  await expectNews(deps, nightlySync)
  await ended('failed', 'exchange_unreachable')
  await tellNews(deps, nightlySync)
  await removeOld()
  expect(await stored()).toMatchObject([{ event: 'failed' }])
  await ended('succeeded')
  await tellNews(deps, nightlySync)
  await removeOld()
  expect(await stored()).toMatchObject([{ event: 'recovered', told_at: null }])
  expect(events(server)).toEqual(['failed'])
})
