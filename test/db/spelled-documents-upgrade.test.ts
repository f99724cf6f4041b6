import { Migrator } from 'kysely/migration'
import { expect, it, onTestFinished } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { migrateToLatest, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { testDatabase } from '../helpers/postgres.ts'

const [one, two, three] = ['a', 'b', 'c'].map((letter) => `0123${letter}bcd-0000-4000-8000-00000000000${letter}`)

/** Each document once under one spelling or two, or under a name that only looks like one. */
const filling = `
  insert into document (search, list, document_id, content_hash, document, first_seen_at, changed_at, removed_at)
  select 'things', 'things', id, '\\x01', to_json(id), seen, seen, removed
  from (values
    ('${one?.toUpperCase()}', '2026-01-01'::timestamptz, null::timestamptz), ('${one}', '2026-01-02', null),
    ('${two?.toUpperCase()}', '2026-01-01', null), ('${two}', '2026-01-02', '2026-01-03'),
    ('${one}/${three?.toUpperCase()}', '2026-01-01', null), ('${one?.toUpperCase()}/${three}', '2026-01-02', null),
    ('NAME', '2026-01-01', null), ('X${one?.toUpperCase()}', '2026-01-01', null)
  ) found (id, seen, removed);
  insert into search_seen_document (submission_id, document_key, page_ordinal)
  select 1, document_key, 7 from document where document_id = '${one?.toUpperCase()}'`

it('documents that stood under several spellings of an id are one after the migration', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const pool = createPool(url, { max: 1, applicationName: 'upgrade test', searchPath: schemaName, onIdleError() {} })
  onTestFinished(() => pool.end())
  await pool.query(`create schema ${schemaName}`)
  const provider = { getMigrations: async () => migrations }
  const migrator = new Migrator({ db: createDatabase(pool), provider, migrationTableSchema: schemaName })
  expect(await migrator.migrateTo('0046-accepted-by')).not.toHaveProperty('error')
  await pool.query(filling)
  await migrateToLatest(url)
  const { rows } = await pool.query(
    `select document_id as id, document #>> '{}' as came_as, extract(day from first_seen_at)::integer as seen,
       removed_at is null as here, page_ordinal as page
     from document left join search_seen_document using (document_key) order by document_id`,
  )
  const stands = { seen: 1, here: true, page: null }
  expect(rows).toEqual([
    { ...stands, id: one, came_as: one, page: 7 },
    { ...stands, id: `${one}/${three}`, came_as: `${one?.toUpperCase()}/${three}` },
    { ...stands, id: two, came_as: two?.toUpperCase() },
    { ...stands, id: 'NAME', came_as: 'NAME' },
    { ...stands, id: `X${one?.toUpperCase()}`, came_as: `X${one?.toUpperCase()}` },
  ])
})
