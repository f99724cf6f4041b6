import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createPool, Turns, withSession } from '../../../../src/db/database.ts'
import { UnchangedCompanies } from '../../../../src/pipeline/pull/fast/company-batches.ts'
import { createDirectWriter } from '../../../../src/pipeline/pull/merge/direct-writer.ts'
import { createStaging, createStagingWriter } from '../../../../src/pipeline/pull/merge/staging-tables.ts'
import { testDatabase } from '../../../helpers/postgres.ts'

it('a page with new, changed and unchanged companies has one statement at a time on the connection', async () => {
  await using database = await testDatabase()
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'nightferry', onIdleError: () => {} }
  const pool = createPool(database.url, options)
  try {
    await withSession(pool, async ({ client, db }) => {
      let beside = 0
      const query = client.query.bind(client) as (...args: unknown[]) => unknown
      const watched = (...args: unknown[]) => {
        if (Reflect.get(client, '_activeQuery') !== null) beside++
        return query(...args)
      }
      Object.assign(client, { query: watched })
      await db.transaction().execute(async (trx) => {
        // The rows stand alone here: what they refer to is another matter.
        await sql`set local session_replication_role = replica`.execute(trx)
        await createStaging(trx)
        const turns = new Turns()
        const staging = createStagingWriter(client, turns)
        const direct = createDirectWriter(client, turns)
        const unchanged = new UnchangedCompanies(trx, 1, turns)
        staging.add('staged_variable_name', ['1', '00000000-0000-4000-8000-000000000001', 'Water'])
        staging.add('staged_property_name', ['1', '00000000-0000-4000-8000-000000000002', 'Rooms'])
        const { calculator_value: values } = direct.lines
        for (const key of [7, 8, 9]) values.field(key)
        values.text('i')
        values.tab()
        values.text('12')
        values.end()
        unchanged.add(
          { company_key: 1, content_hash: '', content_bytes: null, listing_key: 1, calculators: 1, values: 1 },
          10,
        )
        await Promise.all([staging.flush(), direct.end(), unchanged.flush()])
        const { rows } = await sql<Record<string, number>>`
          select (select count(*) from staged_variable_name)::int as variables,
                 (select count(*) from staged_property_name)::int as properties,
                 (select count(*) from calculator_value)::int as values,
                 (select count(*) from search_seen_company)::int as seen`.execute(trx)
        expect(rows).toEqual([{ variables: 1, properties: 1, values: 1, seen: 1 }])
      })
      expect(beside).toBe(0)
    })
  } finally {
    await pool.end()
  }
})

it('a turn comes after one that failed, and each is told of its own end', async () => {
  const turns = new Turns()
  const order: string[] = []
  const failing = turns.take(async () => {
    order.push('first')
    throw new Error('no disk')
  })
  const next = turns.take(async () => order.push('second'))
  await expect(failing).rejects.toThrow('no disk')
  expect(await next).toBe(2)
  expect(order).toEqual(['first', 'second'])
})
