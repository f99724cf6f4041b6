import { type RawBuilder, sql } from 'kysely'
import { expect, it, vi } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { countBacklog } from '../../src/http/count-backlog.ts'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { openFerry } from '../pipeline/push/ferry.ts'

const ferry = await ofThisFile(openFerry())
const pool = createPool(ferry.ledger.url, {
  max: 3,
  applicationName: 'nightferry tests',
  searchPath: schemaName,
  statementTimeoutMs: 100,
  onIdleError: () => {},
})
await ofThisFile(Promise.resolve({ close: () => pool.end() }))
const db = createDatabase(pool)

const answering = async (query: RawBuilder<unknown>, on = db) => (await query.execute(on)).rows

it('a count of rows that wait may take longer than a query of a request, and the next waits for its turn', async () => {
  const slow = sql`select pg_sleep(0.3)`
  await expect(answering(slow)).rejects.toMatchObject({ code: '57014' })
  const order: string[] = []
  const first = countBacklog(db, async (own) => {
    await answering(slow, own)
    order.push('first')
  })
  const second = countBacklog(db, async () => {
    order.push('second')
  })
  await Promise.all([first, second])
  expect(order).toEqual(['first', 'second'])
  const again = await Promise.allSettled([1, 2, 3].map(() => answering(slow)))
  expect(again.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
})

it('rows that take long to count are no database that is down: the metrics come without them, and with them later', async () => {
  await ferry.ledger.land('properties', [{ partner_id: 'H-1', content: { name: 'Aske' } }])
  await using deps = ferry.deps('http://127.0.0.1:9')
  const metrics = createMetrics(deps, db, '1.0.0')
  const locked = await ferry.ledger.pool.connect()
  try {
    await locked.query('begin; lock table acceptance in access exclusive mode')
    const text = await metrics.text()
    expect(text).toContain('nightferry_database_up 1\n')
    expect(text).not.toContain('nightferry_rows{')
  } finally {
    await locked.query('rollback')
    locked.release()
  }
  await vi.waitFor(
    async () => expect(await metrics.text()).toContain('nightferry_rows{stream="properties",state="pending"} 1\n'),
    { timeout: 60_000 },
  )
})
