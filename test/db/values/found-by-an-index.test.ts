import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, createPool, type Database } from '../../../src/db/database.ts'
import { schemaName } from '../../../src/db/migrate-to-latest.ts'
import * as foundAtOnce from '../../../src/db/migrations/0056-found-at-once.ts'
import { tracePartner } from '../../../src/db/trace/trace-partner.ts'
import { hotelDocuments } from '../../../src/db/values/variable-values.ts'
import { makeDestination, switchDestination } from '../../../src/pipeline/destination/switch-destination.ts'
import { listChanges } from '../../../src/pipeline/pull/merge/value-history.ts'
import { testDatabase } from '../../helpers/postgres.ts'

let pool: pg.Pool
let db: Database
let asked: { text: string; values: unknown[] }[] = []

beforeAll(async () => {
  const { url } = await testDatabase()
  pool = createPool(url, { max: 1, applicationName: 'tests', searchPath: schemaName, onIdleError: () => {} })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      const [text, values] = given
      if (typeof text === 'string') asked.push({ text, values: (values as unknown[] | undefined) ?? [] })
      return query(...given)
    }) as typeof client.query
  })
  db = createDatabase(pool)
  await pool.query(`
    insert into run (job, trigger, scheduled_for, state, step, destination_id)
      select 'pull', 'cli', now() + n * interval '1 day', 'finished', 'report', destination_in_use()
      from generate_series(1, 50) n;
    insert into submission (run_id, kind, state, row_count)
      select run_id, 'calculators_search', 'settled', 0 from run order by run_id;
    insert into search_page (submission_id, ordinal, url, state, loaded_at)
      select submission_id, page, 'https://pages.example/',
        case when submission_id = max(submission_id) over () and page = 1 then 'listed' else 'loaded' end,
        timestamptz '2026-11-01T00:00Z' + dense_rank() over (order by submission_id) * interval '1 minute'
      from submission, generate_series(1, 200) page;
    insert into source_row (stream, partner_id, row_key, content, desired_hash)
      values ('properties', 'H-2', 'H-2', '{}', '\\x01');
    insert into acceptance (row_id, partner_id, wanted_hash)
      select row_id, partner_id, desired_hash from source_row;
    insert into mapping (partner_id, company_id, submission_id)
      select 'H-' || n, md5('c' || n)::uuid, max(submission_id) from submission, generate_series(1, 3) n group by n;
    insert into document (search, list, document_id, content_hash, document)
    select 'answers', 'companies', id, '\\x00', jsonb_build_object('id', id, 'answers', repeat(id, 100))
    from (select md5('c' || n)::uuid::text as id from generate_series(2, 5000) n) given;
    insert into document (search, list, document_id, content_hash, document)
    select 'holders', 'holders', case n when 0 then 'sha256:1' else id || '/' || n end, '\\x00',
      jsonb_build_object('hotel', upper(id), 'standard', n)
    from (select md5('c2')::uuid::text as id) one, generate_series(0, 1) n;
    insert into document (search, list, document_id, content_hash, document)
    select 'own', 'places', id, '\\x00', jsonb_build_object('place', upper(id))
    from (select md5('c2')::uuid::text as id) one;
    insert into document (search, list, document_id, content_hash, document)
    select 'odd', 'things', n::text, '\\x00', document
    from (values (1, '"${'0'.repeat(8)}"'::jsonb), (2, '[1]'), (3, 'null'), (4, jsonb_build_object('id', 7)),
      (5, jsonb_build_object('other', md5('c2')::uuid))) given (n, document);
    insert into company (company_id, name) select md5('c' || n)::uuid, 'C' || n from generate_series(1, 500) n;
    insert into calculator_variable (variable_id, name) select 'v' || n, 'V' || n from generate_series(1, 20) n;
    insert into calculator (calculator_id, company_key, type_id, period_year)
      select gen_random_uuid(), company_key, gen_random_uuid(), 2025 from company;
    insert into calculator_value_change
      (company_key, calculator_key, variable_key, direction, submission_id, before, after)
    select company_key, calculator_key, variable_key, 'o', submission_id, '1', '2'
    from submission, calculator, calculator_variable
    where company_key % 10 = 0 order by submission_id`)
  await pool.query('vacuum analyze')
})
afterAll(() => pool.end())

type Node = { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; Plans?: Node[] }

/** How the statements of a call read: the tables from end to end, and the indexes. */
async function readingOf(call: () => Promise<unknown>): Promise<{ whole: string[]; indexes: string[] }> {
  asked = []
  await call()
  const statements = asked.filter(({ text }) => /^\s*(with|select)\s/.test(text))
  expect(statements).not.toEqual([])
  const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
  const nodes: Node[] = []
  for (const { text, values } of statements) {
    const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(`explain (format json) ${text}`, values)
    nodes.push(...rows.flatMap((row) => nodesOf(row['QUERY PLAN'][0].Plan)))
  }
  return {
    whole: nodes.filter((node) => node['Node Type'].endsWith('Seq Scan')).map((node) => node['Relation Name'] ?? ''),
    indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
  }
}

const idsOf = async (hotel: string) =>
  (await hotelDocuments(db, hotel, ['id', 'hotel'], 10)).map(({ search, document_id }) => [search, document_id])

it('the documents of a hotel are found by an index, whatever the contract calls the company', async () => {
  const { rows } = await pool.query<{ id: string }>(`select md5('c2')::uuid::text as id`)
  const id = rows[0]?.id
  expect(await idsOf('H-2')).toEqual([
    ['answers', id],
    ['holders', `${id}/1`],
    ['holders', 'sha256:1'],
    ['own', id],
  ])
  const { whole } = await readingOf(() => hotelDocuments(db, 'H-2', ['id', 'hotel'], 10))
  expect(whole).not.toContain('document')
})

it('a hotel of which there is no document, or that is not mapped, has none', async () => {
  expect(await idsOf('H-1')).toEqual([])
  expect(await idsOf('H-unknown')).toEqual([])
})

it('the newest of all changes of values are found by an index', async () => {
  const newest = await listChanges(db, {}, 11, 'whole')
  expect(newest.map(({ change_id }) => change_id)).toEqual(Array.from({ length: 11 }, (_, back) => 50_000 - back))
  expect((await readingOf(() => listChanges(db, {}, 11, 'whole'))).whole).not.toContain('calculator_value_change')
})

it('the newest changes of an old run are looked for among its own', async () => {
  const { rows } = await pool.query<{ run_id: number }>('select min(run_id) as run_id from run')
  const runId = Number(rows[0]?.run_id)
  const newest = await listChanges(db, { runId }, 11, 'whole')
  expect(newest.map(({ change_id }) => change_id)).toEqual(Array.from({ length: 11 }, (_, back) => 1_000 - back))
  const { whole, indexes } = await readingOf(() => listChanges(db, { runId }, 11, 'whole'))
  expect(whole).not.toContain('calculator_value_change')
  expect(indexes).not.toContain('calculator_value_change_newest')
})

it('the trace of a hotel finds the last search without the pages of all searches', async () => {
  const trace = () => tracePartner(db, 'H-2', {}, [])
  expect((await trace())?.company?.searched_at).toEqual(new Date('2026-11-01T00:49:00Z'))
  expect((await readingOf(trace)).whole).not.toContain('search_page')
})

it('the migration 0056 makes its indexes for every destination', async () => {
  await db.transaction().execute(async (trx) => {
    await switchDestination(trx, await makeDestination(trx, 'second'))
  })
  await pool.query('drop function uuids_of_document cascade')
  await pool.query('drop index calculator_value_change_newest')
  await pool.query('drop index nightferry_destination_1.calculator_value_change_newest')
  await db.transaction().execute((trx) => foundAtOnce.up(trx as never))
  const { rows } = await pool.query<{ index: string }>(`
    select schemaname || '.' || indexname as index from pg_indexes
    where indexname in ('document_uuids', 'calculator_value_change_newest') order by 1`)
  expect(rows.map(({ index }) => index)).toEqual(
    ['nightferry', 'nightferry_destination_1'].flatMap((schema) =>
      ['calculator_value_change_newest', 'document_uuids'].map((name) => `${schema}.${name}`),
    ),
  )
})
