import { Migrator } from 'kysely/migration'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { migrateToLatest, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { type JudgingRules, judgingBasis } from '../../src/pipeline/preflight/judgements.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { type Landing, type Ledger, openLedger } from './ledger/ledger.ts'

/** The last schema whose ledger was one table with hashes of 32 bytes. */
const lastOfOneTable = '0014-readers'

let ledger: Ledger
let before: State
let after: State

beforeAll(async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const pool = createPool(url, {
    max: 1,
    applicationName: 'upgrade test',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  try {
    await migrateTo(pool, lastOfOneTable)
    await pool.query(filling)
    before = await stateOf(pool, oneTable)
  } finally {
    await pool.end()
  }
  await migrateToLatest(url)
  ledger = await openLedger(url)
  after = await stateOf(ledger.pool, twoTables)
})
afterAll(() => ledger.close())

async function migrateTo(pool: pg.Pool, name: string): Promise<void> {
  await pool.query(`create schema ${schemaName}`)
  const db = createDatabase<unknown>(pool)
  const provider = { getMigrations: async () => migrations }
  const { error } = await new Migrator({ db, provider, migrationTableSchema: schemaName }).migrateTo(name)
  if (error !== undefined) throw new Error(`migrating to ${name} failed`, { cause: error })
}

const rules: JudgingRules = { checks: 1, maxTextLength: 100, customIdentifierId: 'an id', addedKinds: '' }

/** What earlier versions stored: hashes of 32 bytes, over the text of the content. */
const filling = `
  create function pg_temp.hash_of(said jsonb) returns bytea language sql as
    $$ select sha256(convert_to(said::text, 'UTF8')) $$;

  insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', now(), 'finished', 'done');
  insert into submission (run_id, kind, state, row_count) values
    (1, 'company_mappings', 'settled', 4), (1, 'company_mappings', 'accepted', 1);
  insert into action (verb, acted_by, host, rows) values ('retry', 'anna', 'ferry1', 1);
  insert into judging_basis (reference_version, rules) values (0, '${JSON.stringify(rules)}');
  insert into mapping (partner_id, company_id, submission_id) values
    ('accepted', '00000000-0000-4000-8000-000000000001', 1), ('gone', '00000000-0000-4000-8000-000000000002', 1);

  insert into source_row (stream, partner_id, row_key, content, desired_hash)
  select 'properties', name, name, said, pg_temp.hash_of(said)
  from unnest(array['unjudged', 'pending', 'accepted', 'changed', 'refused', 'retried', 'held', 'gone', 'unknown', 'invalid'])
         with ordinality as _(name, n),
       jsonb_build_object('name', 'Hôtel ' || name, 'street', 'Brücke 🏨 ' || n) said
  order by n;
  insert into source_row (stream, partner_id, row_key, content, desired_hash, checked_hash, judged_by, guard_run, guard_change)
  select 'calculator_settings', 'pending', 'guarded', said, pg_temp.hash_of(said), pg_temp.hash_of(said), 1, 1, 'new'
  from jsonb_build_object('automatic_publishing', 'true') said;

  update source_row set checked_hash = desired_hash, judged_by = 1 where row_key <> 'unjudged';
  update source_row set accepted_hash = desired_hash, accepted_at = now(), outcome = 'confirmed', outcome_at = now(),
                        outcome_submission = 1
  where row_key in ('accepted', 'changed', 'gone');
  update source_row set refused_hash = desired_hash, outcome = 'rejected', outcome_code = 'NotFound',
                        outcome_reason = 'No company', outcome_at = now(), outcome_submission = 1
  where row_key in ('refused', 'retried');
  update source_row set retry_action = 1, resent_hash = desired_hash, resent_count = 2 where row_key = 'retried';
  update source_row set held_by = 2 where row_key = 'held';
  update source_row set gone_at = now() where row_key = 'gone';
  update source_row set outcome = 'unknown', outcome_code = 'task_lost', outcome_at = now(), outcome_submission = 1,
                        gone_at = now()
  where row_key = 'unknown';
  update source_row set invalid_reason = 'latitude 100 is not between -90 and 90' where row_key = 'invalid';
  update source_row set content = said, desired_hash = pg_temp.hash_of(said), checked_hash = null
  from jsonb_build_object('name', 'another') said where row_key = 'changed';

  -- A row that contradicts itself: one of the two contents, and a hash over the texts of both.
  insert into source_row (stream, partner_id, row_key, content, desired_hash, checked_hash, invalid_reason, contradiction)
  select 'properties', 'twice', 'twice', '{"name": "Harbor"}', hash, hash, 'They differ.', 'They differ.'
  from sha256(convert_to(E'{"name": "Harbor"}\\n{"name": "Harbour"}', 'UTF8')) hash;

  insert into submission_row (submission_id, row_id, sent_hash, outcome)
  select 1, row_id, coalesce(accepted_hash, desired_hash), outcome from source_row where outcome_submission = 1;
  insert into submission_row (submission_id, row_id) select 2, row_id from source_row where held_by = 2;
  insert into row_finding (row_id, kind, other_row_id, row_hash, other_hash, detail)
  select one.row_id, 'two_partner_ids', two.row_id, one.desired_hash, two.desired_hash, 'they differ'
  from source_row one, source_row two where one.row_key = 'invalid' and two.row_key = 'pending';
  insert into row_finding (row_id, kind, detail)
  select row_id, 'coordinates_zero', 'both are 0' from source_row where row_key = 'pending';
  insert into null_cursor_row (row_id) select row_id from source_row where row_key = 'held';
  insert into input_difference (kind, company_id, period_year, variable_id, row_id, sent, stored, found_by_run, found_at)
  select 'different', '00000000-0000-4000-8000-000000000001', 2025, 'v', row_id, '1', '2', 1, now()
  from source_row where row_key = 'accepted'`

type State = Record<string, object[]>

const cut = (...columns: string[]) =>
  columns.map((column) => `encode(substring(${column} for 16), 'hex') as ${column}`).join(', ')
const kept = `
  row_id, stream, partner_id, row_key, content, contradiction, gone_at, guard_run, guard_change, first_seen_at, changed_at,
  judged_by, invalid_reason, held_by, outcome, outcome_code, outcome_reason, outcome_submission, outcome_at, accepted_at,
  retry_action, resent_count, ${cut('desired_hash', 'accepted_hash', 'refused_hash', 'checked_hash', 'resent_hash')}`

const oneTable = `
  select ${kept}, accepted_hash is distinct from desired_hash as pending, checked_hash = desired_hash as judged
  from source_row order by row_id`
const twoTables = `select ${kept}, pending, judged from ledger order by row_id`

/** The ledger and all that refers to its contents, with hashes cut to what is kept of them. */
async function stateOf(pool: pg.Pool, rows: string): Promise<State> {
  const queries: Record<string, string> = {
    rows,
    sent: `select submission_id, row_id, outcome, ${cut('sent_hash')} from submission_row order by 1, 2`,
    changes: `select row_id, changed_at, content_before, ${cut('hash_before')} from row_change order by 1, 2`,
    findings: `
      select row_id, kind, other_row_id, detail, found_at, ${cut('row_hash', 'other_hash')} from row_finding order by 1, 2`,
    drift: `
      select stream, partner_id, row_key, content, accepted_at, outcome, gone_since from drift order by stream, row_key`,
    warnings: 'select * from row_warnings order by stream, row_key, warning',
    withoutCursor: 'select * from rows_without_cursor order by stream, row_key',
    differences: 'select * from input_differences order by variable_id',
  }
  const state: State = {}
  for (const [name, query] of Object.entries(queries)) state[name] = (await pool.query<object>(query)).rows
  return state
}

const pendingKeys = async () =>
  (await ledger.db.selectFrom('ledger').select('row_key').where('pending', '=', true).orderBy('row_key').execute()).map(
    ({ row_key }) => row_key,
  )
const stillPending = ['guarded', 'held', 'invalid', 'pending', 'refused', 'retried', 'twice', 'unjudged', 'unknown']

describe('a database of the version before the ledger was split', () => {
  it('has the same rows in the same states once it is migrated, and the same views', () => {
    for (const [name, rows] of some(Object.entries(before))) expect(rows, name).not.toEqual([])
    expect(after).toEqual(before)
  })

  it('has nothing pending that was accepted before, and nothing accepted that was pending', async () => {
    expect(await pendingKeys()).toEqual(['changed', ...stillPending])
  })

  it('has only hashes of 16 bytes, and one line in acceptance for each row', async () => {
    const { rows } = await ledger.pool.query(
      `select count(*)::integer as rows, count(took.row_id)::integer as lines,
              bool_and(took.wanted_hash = row.desired_hash and took.partner_id = row.partner_id) as alike,
              array_agg(distinct length(row.desired_hash)) as lengths
       from source_row row full join acceptance took using (row_id)`,
    )
    expect(rows).toEqual([{ rows: before.rows?.length, lines: before.rows?.length, alike: true, lengths: [16] }])
  })

  it('says of a row in drift why it is there and which company holds it', async () => {
    const { rows } = await ledger.pool.query('select row_key, why, company_id from drift order by row_key')
    expect(rows).toEqual([
      { row_key: 'gone', why: 'gone', company_id: '00000000-0000-4000-8000-000000000002' },
      { row_key: 'unknown', why: 'gone', company_id: null },
    ])
  })

  it('has its runs, and what its rows were judged by, at the one destination that it knows', async () => {
    const { rows } = await ledger.pool.query(
      `select (select array_agg(destination_id) from run) as runs, array_agg(destination_id) as known from destinations
       where in_use`,
    )
    expect(rows).toEqual([{ runs: [1], known: [1] }])
    expect(await judgingBasis(ledger.db, rules)).toBe(1)
  })

  it('finds its rows unchanged when the partner yields them again, also one that contradicts itself', async () => {
    const { rows } = await ledger.pool.query<Landing>(
      `select partner_id, row_key, content from source_row
       where stream = 'properties' and row_key not in ('twice', 'gone', 'unknown')`,
    )
    const twice = ['Harbour', 'Harbor'].map((name) => ({ partner_id: 'twice', content: { name }, ordinal: 0 }))
    // In another order of their members, as another query might yield them.
    const turned = rows.map((row) => ({ ...row, content: Object.fromEntries(Object.entries(row.content).reverse()) }))
    expect(await ledger.land('properties', [...turned, ...twice])).toMatchObject({
      unchanged: rows.length + 1,
      changed: 0,
      returned: 0,
    })
    expect((await stateOf(ledger.pool, twoTables)).rows).toEqual(before.rows)
  })

  it('takes a row for accepted again that changes back to what was accepted before the upgrade', async () => {
    const { rows } = await ledger.pool.query<{ content_before: Record<string, unknown> }>(
      `select content_before from row_change join source_row using (row_id) where row_key = 'changed'`,
    )
    const content = rows[0]?.content_before ?? {}
    expect(await ledger.land('properties', [{ partner_id: 'changed', content }])).toMatchObject({ changed: 1 })
    expect(await pendingKeys()).toEqual(stillPending)
  })
})

it('the migration moves what holds a row out of the acceptances of every destination, also of one that waits', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const pool = createPool(url, {
    max: 1,
    applicationName: 'upgrade test',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const waiting = 'nightferry_destination_7'
  try {
    await migrateTo(pool, '0022-own-database')
    await pool.query(`
      insert into destination (name, schema_name, left_at) values ('old', '${waiting}', now());
      insert into source_row (stream, partner_id, row_key, content, desired_hash) values
        ('properties', 'H-1', 'H-1', '{}', '\\x01'), ('properties', 'H-2', 'H-2', '{}', '\\x02');
      insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', now(), 'finished', 'done');
      insert into submission (run_id, kind, state, row_count) values (1, 'company_mappings', 'accepted', 2);
      insert into submission_row (submission_id, row_id) select 1, row_id from source_row;
      insert into acceptance (row_id, partner_id, wanted_hash, held_by)
        select row_id, partner_id, desired_hash, case partner_id when 'H-1' then 1 end from source_row;
      create schema ${waiting};
      create table ${waiting}.acceptance as select * from acceptance;
      create table ${waiting}.company as select * from company;
      update ${waiting}.acceptance set held_by = case partner_id when 'H-2' then 1 end;
      do $$ begin execute replace('create view ${waiting}.ledger as ' || pg_get_viewdef('ledger'::regclass),
                                  'JOIN acceptance', 'JOIN ${waiting}.acceptance'); end $$`)
  } finally {
    await pool.end()
  }
  await migrateToLatest(url)
  const migrated = createPool(url, {
    max: 1,
    applicationName: 'upgrade test',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  try {
    const heldIn = async (schema: string) =>
      (await migrated.query(`select partner_id, held_by from ${schema}.ledger where held_by is not null`))
        .rows as unknown
    expect(await heldIn(schemaName)).toEqual([{ partner_id: 'H-1', held_by: 1 }])
    expect(await heldIn(waiting)).toEqual([{ partner_id: 'H-2', held_by: 1 }])
  } finally {
    await migrated.end()
  }
})
