import { Migrator } from 'kysely/migration'
import { expect, it, onTestFinished } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { migrateToLatest, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { testDatabase } from '../helpers/postgres.ts'

/** Rows that were never accepted, each by what its requests came to: the last of them stands with the row. */
const filling = `
  insert into destination (name, schema_name, left_at) values ('the sandbox', 'nightferry_sandbox', now());
  insert into run (job, trigger, scheduled_for, state, step, destination_id)
  select 'nightly-sync', 'cli', now() - destination_id * interval '1 day', 'finished', 'done', destination_id from destination order by schema_name nulls first;
  insert into submission (run_id, kind, state, row_count, rest_outcome, rest_code, repeats, settled_at) values
    (1, 'properties', 'settled', 1, 'unknown', 'task_lost', 0, '2026-01-01'),
    (1, 'properties', 'settled', 1, 'rejected', 'OutOfRange', 1, '2026-01-02'),
    (1, 'properties', 'settled', 1, 'rejected', 'OutOfRange', 0, '2026-01-03'),
    (2, 'properties', 'settled', 1, 'unknown', 'task_lost', 0, '2026-01-01');
  insert into mapping_change (partner_id, company_before, company_id, submission_id, rows, changed_at)
  select 'lost at the company before', gen_random_uuid(), gen_random_uuid(), 3, 0, '2026-01-02';
  insert into source_row (stream, partner_id, row_key, content, desired_hash, gone_at)
  select 'properties', name, name, '{}', '\\x01', now()
  from unnest(array['lost', 'lost and accepted', 'lost before', 'repeated before', 'alone', 'rejected',
                    'lost at the sandbox', 'lost at the company before']) name;
  insert into submission_row (submission_id, row_id)
  select submission_id, row_id from source_row join submission on submission_id = any(
    case row_key when 'lost' then array[1] when 'rejected' then array[3] when 'alone' then array[3]
                 when 'repeated before' then array[2, 3] when 'lost at the sandbox' then array[3, 4]
                 else array[1, 3] end);
  insert into acceptance (row_id, partner_id, wanted_hash, outcome, outcome_code, outcome_at, accepted_at)
  select row_id, partner_id, desired_hash,
         case row_key when 'lost' then 'unknown' else 'rejected' end,
         case row_key when 'lost' then 'task_lost' when 'alone' then 'task_error_alone' else 'OutOfRange' end,
         case row_key when 'lost' then '2026-01-01'::timestamptz else '2026-01-03' end,
         case row_key when 'lost and accepted' then '2026-01-02'::timestamptz end
  from source_row`

it('the migration tells of each row when it may have been taken, from what its requests came to', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const pool = createPool(url, { max: 1, applicationName: 'upgrade test', searchPath: schemaName, onIdleError() {} })
  onTestFinished(() => pool.end())
  await pool.query(`create schema ${schemaName}`)
  const provider = { getMigrations: async () => migrations }
  const migrator = new Migrator({ db: createDatabase(pool), provider, migrationTableSchema: schemaName })
  expect(await migrator.migrateTo('0043-whole-destinations')).not.toHaveProperty('error')
  await pool.query(filling)
  await migrateToLatest(url)
  const { rows } = await pool.query(
    `select row_key, extract(day from perhaps_taken_at)::integer as day from ledger order by row_key`,
  )
  expect(rows).toEqual([
    { row_key: 'alone', day: 3 },
    { row_key: 'lost', day: 1 },
    { row_key: 'lost and accepted', day: null },
    { row_key: 'lost at the company before', day: null },
    { row_key: 'lost at the sandbox', day: null },
    { row_key: 'lost before', day: 1 },
    { row_key: 'rejected', day: null },
    { row_key: 'repeated before', day: 2 },
  ])
})
