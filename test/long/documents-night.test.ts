import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadContract } from '../../src/exchange/contract.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, packagedContract, startWorld, type World, type WorldOptions } from '../helpers/world.ts'

const { names } = loadContract(packagedContract)

const searches = [
  { name: 'our_companies', search: 'companiesSearch' },
  { name: 'all_standards', search: 'standardsSearch' },
  { name: 'our_holders', search: 'standardHoldersSearch', body: { [names.standardHoldersSearch.standardIds]: [] } },
  { name: 'our_answers', search: 'frameworkAnswersSearch' },
]

const hotels = 20

type Place = { world: World; folder: string; args: (...words: string[]) => string[] } & AsyncDisposable

/** The demonstration with hotels and certificates only, and searches for everything there is. */
async function place(options: Partial<WorldOptions> = {}, asked: readonly object[] = searches): Promise<Place> {
  await using made = new AsyncDisposableStack()
  const world = made.use(await startWorld({ hotels, pageSize: 3, ...options }))
  const { path: folder } = made.use(await workingFolder())
  const { streams, pull, ...rest } = parse(readFileSync(demoConfig, 'utf8')) as {
    streams: Record<'properties' | 'standard_holders', object>
    pull: object
  }
  const { properties, standard_holders } = streams
  const file = join(folder, 'searches.yaml')
  writeFileSync(
    file,
    stringify({ ...rest, streams: { properties, standard_holders }, pull: { ...pull, searches: asked } }),
  )
  const kept = made.move()
  return {
    world,
    folder,
    args: (...words) => [...words, '--config', file],
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

async function night({ world, folder, args }: Place): Promise<RunReport> {
  const ended = await nightferry(folder, args('run', 'nightly-sync', '--json'), world.environment())
  expect(ended.stderr).not.toContain('nightferry:')
  return JSON.parse(ended.stdout) as RunReport
}

const standing = async ({ world }: Place) => {
  const { rows } = await world.pool.query<{ search: string; list: string; here: number; gone: number }>(
    `select search, list, count(*) filter (where removed_at is null) as here,
            count(*) filter (where removed_at is not null) as gone
     from documents group by 1, 2 order by 1, 2`,
  )
  return rows
}

/** How often the rows of documents were written since the database began. */
const writes = async ({ world }: Place) => {
  const { rows } = await world.pool.query(
    "select n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables where relname = 'document'",
  )
  return rows
}

test('nights bring what other searches find: new, unchanged, changed, gone and back again', async () => {
  await using here = await place()
  const first = await night(here)
  expect(
    first.documents.map(({ search, state, failed_pages, withheld }) => [search, state, failed_pages, withheld]),
  ).toEqual(searches.map(({ name }) => [name, 'settled', 0, null]))
  expect(first.documents[0]?.pages).toBeGreaterThan(5)
  const { sandboxPool } = here.world
  const { rows: known } = await sandboxPool.query<{ companies: number; holders: number }>(
    `select (select count(*) from sandbox.company)::int as companies,
            (select count(*) from sandbox.standard_holder)::int as holders`,
  )
  const { companies = 0, holders = 0 } = known[0] ?? {}
  expect(holders).toBeGreaterThan(5)
  const all = await standing(here)
  expect(all).toMatchObject([
    { search: 'all_standards', list: names.standardsPage.standards, gone: 0 },
    { search: 'our_answers', list: names.frameworkAnswersPage.companies, here: companies, gone: 0 },
    { search: 'our_companies', list: names.companiesPage.companies, here: companies, gone: 0 },
    { search: 'our_holders', list: names.standardHoldersPage.holders, here: holders, gone: 0 },
  ])
  const { rows: found } = await here.world.pool.query<{ name: string }>(
    `select document ->> $1 as name from documents where search = 'our_companies' order by document_id`,
    [names.companiesPage.name],
  )
  const { rows: there } = await sandboxPool.query<{ name: string }>(
    'select name from sandbox.company order by id::text',
  )
  expect(found).toEqual(there)

  const written = await writes(here)
  const second = await night(here)
  expect(second).toMatchObject({ remarks: first.remarks })
  for (const search of some(second.documents))
    expect(search).toMatchObject({ added: 0, changed: 0, unchanged: search.documents })
  expect(await writes(here)).toEqual(written)

  const { rows: ends } = await sandboxPool.query<{ company_id: string; standard_id: string }>(
    'select company_id, standard_id from sandbox.standard_holder order by 1, 2 limit 2',
  )
  const [altered, ended] = ends
  await sandboxPool.query(
    'create table public.ended as select * from sandbox.standard_holder where company_id = $1 and standard_id = $2',
    [ended?.company_id, ended?.standard_id],
  )
  await sandboxPool.query('delete from sandbox.standard_holder where company_id = $1 and standard_id = $2', [
    ended?.company_id,
    ended?.standard_id,
  ])
  await sandboxPool.query(
    "update sandbox.standard_holder set expiry_date = '2031-05-01' where company_id = $1 and standard_id = $2",
    [altered?.company_id, altered?.standard_id],
  )
  const third = await night(here)
  expect(third.documents.find(({ search }) => search === 'our_holders')).toMatchObject({
    added: 0,
    changed: 1,
    gone: 1,
  })
  const { rows: holder } = await here.world.pool.query(
    `select document_id, document ->> $1 as expiry from documents
     where search = 'our_holders' and (removed_at is not null or changed_at > first_seen_at) order by removed_at nulls first`,
    [names.standardHoldersPage.expiryDate],
  )
  expect(holder).toMatchObject([
    { document_id: `${altered?.company_id}/${altered?.standard_id}`, expiry: '2031-05-01' },
    { document_id: `${ended?.company_id}/${ended?.standard_id}` },
  ])

  await sandboxPool.query('insert into sandbox.standard_holder select * from public.ended')
  const fourth = await nightferry(here.folder, here.args('run', 'nightly-sync'), here.world.environment())
  expect(fourth.stdout).toMatch(
    /What the other searches brought \(documents\)\n(.*\n)+our_holders +Success +\d+ +\d+ +0 +1 +\d+ +0 +0\n/,
  )
  expect(await standing(here)).toEqual(all)
  const said = await nightferry(here.folder, here.args('status'), here.world.environment())
  expect(said.stdout).toMatch(/our_holders +\d+ +0 +Success/)
})

test('a company that the service lists on two pages is one document', async () => {
  await using here = await place()
  const answer = await fetch(`${here.world.sandboxUrl}/sandbox/chaos`, {
    method: 'PUT',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({ profiles: { 'company-on-two-pages': 1 } }),
  })
  expect(answer.status).toBe(200)
  const [companies] = (await night(here)).documents
  expect(companies?.documents).toBeGreaterThan(companies?.added ?? 0)
  expect(companies).toMatchObject({ changed: 0, quarantined: 0, withheld: null })
  const { rows } = await here.world.sandboxPool.query('select count(*)::int as companies from sandbox.company')
  expect(rows).toEqual([{ companies: companies?.added }])
})

test('a search that the service refuses makes the run partial and harms nothing else', async () => {
  const refused = {
    name: 'no_list',
    search: 'standardHoldersSearch',
    body: { [names.standardHoldersSearch.standardIds]: 5 },
  }
  await using here = await place({}, [refused, ...searches])
  const report = await night(here)
  expect(report.verdict).toBe('partial')
  expect(report.remarks.filter((remark) => remark.includes('no_list'))).toEqual([
    expect.stringMatching(/^The search no_list brought nothing: \w+: .*Its documents stand as they were\.$/),
  ])
  expect(report.documents.map(({ search, state }) => [search, state])).toEqual([
    ['no_list', 'refused'],
    ...searches.map(({ name }) => [name, 'settled']),
  ])
  expect(report.searches[0]?.calculators).toBeDefined()
  expect((await standing(here)).map(({ search }) => search)).toEqual(searches.map(({ name }) => name).toSorted())
})

test('a process killed while it merges a page has merged nothing of it, and the next one ends in the same documents', async () => {
  await using calm = await place()
  const undisturbed = await night(calm)
  await using here = await place()
  const migrated = await nightferry(here.folder, here.args('migrate'), here.world.environment())
  expect(migrated.code, migrated.stderr).toBe(0)
  const holder = await here.world.pool.connect()
  await holder.query('begin')
  // Reads go on, the first write waits: the process is in the midst of a page's transaction.
  await holder.query('lock table document in share mode')
  const victim = start(here.folder, here.args('run', 'nightly-sync', '--json'), here.world.environment())
  await vi.waitFor(
    async () => {
      const { rows } = await here.world.sandboxPool.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%update document%' and datname = $1`,
        [new URL(here.world.databaseUrl).pathname.slice(1)],
      )
      expect(rows.length).toBeGreaterThan(0)
    },
    { timeout: 60_000, interval: 50 },
  )
  victim.child.kill('SIGKILL')
  await once(victim.child, 'exit')
  await holder.query('rollback')
  holder.release()
  expect(await standing(here)).toEqual([])

  const resumed = await night(here)
  expect(resumed).toMatchObject({ run_id: 1, resumed: 1, verdict: undisturbed.verdict })
  expect(resumed.documents.map(({ documents, added }) => [documents, added])).toEqual(
    undisturbed.documents.map(({ documents, added }) => [documents, added]),
  )
  expect((await finalTables(here.world.pool)).documents).toEqual((await finalTables(calm.world.pool)).documents)
})

test('two daemons share the pages of all searches, and each is loaded once', async () => {
  await using here = await place({ pageSize: 1 })
  const daemons = [1, 2].map(() =>
    start(here.folder, here.args('run', 'nightly-sync', '--set', 'log.level=info'), here.world.environment()),
  )
  const ended = await Promise.all(daemons.map(({ ended: end }) => end))
  expect(ended.map(({ code }) => code)).toEqual([ended[0]?.code, ended[0]?.code])
  const { rows } = await here.world.pool.query<{ search: string; pages: number; loaded: number; added: number }>(
    `select partition as search, count(*) as pages, count(*) filter (where p.state = 'loaded') as loaded,
            sum(added)::int as added
     from search_page p join submission using (submission_id) where partition <> '' group by 1 order by 1`,
  )
  const all = await standing(here)
  expect(rows).toEqual(
    all.map(({ search, here: documents }) => ({ search, pages: documents, loaded: documents, added: documents })),
  )
  expect(all.every(({ gone }) => gone === 0)).toBe(true)
})
