import { Migrator } from 'kysely/migration'
import { expect, it, onTestFinished } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { migrateToLatest, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { testDatabase } from '../helpers/postgres.ts'

const numbers = { sent: 9, confirmed: 2, inferred: 0, rejected: 3, invalid: 1, parked: 0, unknown: 0, held: 0 }
const causes = [
  { what: 'rejected by the service', rows: 40, verb: 'nightferry rejected' },
  { what: 'invalid, and not sent', rows: 1, verb: 'nightferry invalid' },
]

it('the migration takes the amounts of a trouble that was told from its message, with the rows withheld', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const pool = createPool(url, { max: 1, applicationName: 'upgrade test', searchPath: schemaName, onIdleError() {} })
  onTestFinished(() => pool.end())
  await pool.query(`create schema ${schemaName}`)
  const provider = { getMigrations: async () => migrations }
  const migrator = new Migrator({ db: createDatabase(pool), provider, migrationTableSchema: schemaName })
  expect(await migrator.migrateTo('0048-partner-clock')).not.toHaveProperty('error')
  const messages = [
    ['partial', { numbers: { ...numbers, duration_ms: 8 }, causes }],
    ['partial', { numbers: { ...numbers, duration_ms: 8 }, causes: causes.slice(1) }],
    ['partial', { numbers: {}, causes: [{ what: 'see the report', rows: null, verb: 'nightferry status' }] }],
    ['partial', {}],
    ['failed', { numbers: {}, causes: [] }],
  ] as const
  for (const [event, message] of messages) {
    const values = [event, JSON.stringify(message)]
    await pool.query(`insert into notification (job, event, cause, message) values ('push', $1, 'x', $2)`, values)
  }
  await migrateToLatest(url)
  const { rows } = await pool.query('select amounts from notification order by notification_id')
  const { rejected, invalid, parked, unknown, held } = numbers
  const counted = { rejected, invalid, parked, unknown, held }
  expect(rows).toEqual([
    { amounts: { ...counted, rejected: 40 } },
    { amounts: counted },
    { amounts: {} },
    { amounts: null },
    { amounts: null },
  ])
})
