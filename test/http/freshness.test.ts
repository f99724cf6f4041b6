import { expect, it } from 'vitest'
import { buildHttpServer } from '../../src/http/build-http-server.ts'
import type { HttpContext } from '../../src/http/route.ts'
import { healthRoutes } from '../../src/http/routes/standing-routes.ts'
import { ended, ferry, withNews } from '../jobs/news-world.ts'

withNews()

const schedule = '30 2 * * *'

/** The answer of `/freshz` to one whose push and pull have schedules, and whose night has none. */
async function freshness(): Promise<{ status: number; since: string | null; why: string }> {
  await using plain = ferry.deps('http://127.0.0.1:9')
  const { jobs } = plain.config
  const scheduled = { push: { ...jobs.push, schedule }, 'pull-calculators': { ...jobs['pull-calculators'], schedule } }
  const deps = { ...plain, config: { ...plain.config, jobs: { ...jobs, ...scheduled } }, now: () => new Date() }
  const context = { db: ferry.ledger.db, deps, conceal: (text: string) => text } as unknown as HttpContext
  const server = buildHttpServer(context, deps.config.http, healthRoutes)
  const answer = await server.inject('/freshz')
  await server.close()
  return { status: answer.statusCode, ...(JSON.parse(answer.body) as { since: string | null; why: string }) }
}

it('the data are fresh by the jobs that carry them where the night has no schedule', async () => {
  await ferry.ledger.db.deleteFrom('run').execute()
  const push = await ended('succeeded', undefined, {}, 'push')
  expect(await freshness()).toMatchObject({ status: 503, why: expect.stringContaining('No run of pull-calculators') })
  await ended('partial', undefined, {}, 'pull-calculators')
  expect(await freshness()).toMatchObject({ status: 200 })
  await ferry.ledger.pool.query(`update run set started_at = now() - interval '2 weeks' where run_id = $1`, [push])
  await ended('failed', 'exchange_unreachable', {}, 'push')
  expect(await freshness()).toMatchObject({ status: 503, why: expect.stringContaining('The newest run of push') })
})

it('the data are not fresh by a run that ended partly and carried nothing through, which the answer names', async () => {
  const { db, pool } = ferry.ledger
  await db.deleteFrom('run').execute()
  await ended('succeeded', undefined, {}, 'push')
  await ended('succeeded', undefined, {}, 'pull-calculators')
  await pool.query(`update run set started_at = now() - interval '2 days'`)
  const [nothing, all] = [await ended('partial'), await ended('partial')]
  await pool.query('update run set carried = run_id <> $1 where run_id >= $1', [nothing])
  expect(await freshness()).toMatchObject({ status: 200 })
  await db.deleteFrom('run').where('run_id', '=', all).execute()
  expect(await freshness()).toMatchObject({
    status: 503,
    why: expect.stringContaining(`Run ${nothing} has ended since and does not count; its report says why.`),
  })
})
