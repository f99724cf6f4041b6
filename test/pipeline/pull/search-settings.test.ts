import { sql } from 'kysely'
import { pino } from 'pino'
import { beforeEach, expect, it } from 'vitest'
import type { Config } from '../../../src/config/schema.ts'
import type { Task } from '../../../src/exchange/task.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { beginHistory, lastSearchedRun } from '../../../src/pipeline/pull/merge/value-history.ts'
import { listPages } from '../../../src/pipeline/pull/search/search-pages.ts'
import { planSearch } from '../../../src/pipeline/pull/search/whole-search.ts'
import { finishWithReport } from '../../../src/pipeline/report/finish-with-report.ts'
import type { RunReport } from '../../../src/pipeline/report/report.ts'
import { searchKind } from '../../../src/pipeline/streams/kind-names.ts'
import { contract } from '../../exchange/test-client.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { uuid } from './sample-page.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  await emptyTables(ferry.ledger.db, ['calculator_value_change', 'history_start', 'complete_search', 'reference_data'])
})

const withPull = (deps: Deps, pull: Partial<Config['pull']>): Deps => ({
  ...deps,
  config: { ...deps.config, pull: { ...deps.config.pull, ...pull } },
})

const currentRun = () =>
  ferry.ledger.db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()

async function plannedSearch(deps: Deps) {
  await ferry.ledger.startRun()
  await planSearch(deps, await currentRun())
  return await ferry.ledger.db.selectFrom('submission').selectAll().executeTakeFirstOrThrow()
}

const task: Task = {
  correlationId: 'x',
  status: 'Success',
  phase: 'terminal',
  known: true,
  requestType: null,
  taskKind: null,
  createdAt: null,
  apiKeyId: null,
  pageUrls: ['https://files.example/0'],
  fileUrl: null,
  generalErrors: [],
  rowErrors: [],
  raw: {},
}

it.each([
  [true, 'https://files.example/0'],
  [true, null],
  [false, 'https://files.example/0'],
])('a search with pull.history %j records it from its first page on, with the page %j', async (history, url) => {
  await using given = ferry.deps('http://127.0.0.1:9')
  const deps = withPull(given, { history })
  const submission = await plannedSearch(deps)
  const pageUrls = url === null ? [] : [url]
  await deps.db.transaction().execute((trx) => listPages(deps, trx, submission, { ...task, pageUrls }))
  expect((await ferry.submission(submission.submission_id)).history).toBe(history)
  expect(await deps.db.selectFrom('history_start').selectAll().execute()).toHaveLength(history ? 1 : 0)
})

it.each([true, false])(
  'a search for documents neither begins nor ends the history of values, with pull.history %j',
  async (history) => {
    await using given = ferry.deps('http://127.0.0.1:9')
    const { submission_id, run_id } = await plannedSearch(given)
    const { db } = given
    if (!history) await db.transaction().execute((trx) => beginHistory(trx, submission_id, true))
    await db
      .insertInto('search_page')
      .values({ submission_id, ordinal: 0, url: 'a', state: 'loaded' } as never)
      .execute()
    await db.updateTable('run').set({ state: 'finished' }).where('run_id', '=', run_id).execute()

    await ferry.ledger.startRun()
    const other = { run_id: (await currentRun()).run_id, state: 'accepted' as const, row_count: 0 }
    const submission = await db
      .insertInto('submission')
      .values({ ...other, kind: 'standards_search', partition: 'all_standards' })
      .returningAll()
      .executeTakeFirstOrThrow()
    const deps = withPull(given, { history })
    await db.transaction().execute((trx) => listPages(deps, trx, submission, task))
    expect((await ferry.submission(submission.submission_id)).history).toBe(false)
    expect(await db.selectFrom('history_start').selectAll().execute()).toHaveLength(history ? 0 : 1)

    await db.updateTable('search_page').set({ state: 'loaded' }).execute()
    expect(await lastSearchedRun(db, searchKind)).toEqual({ run_id, history: !history })
  },
)

it('the history begins with the first search that records and goes on with the next', async () => {
  await using deps = ferry.deps('http://127.0.0.1:9')
  const { submission_id } = await plannedSearch(deps)
  const began = async (recorded: boolean) => {
    await deps.db.transaction().execute((trx) => beginHistory(trx, submission_id, recorded))
    return await deps.db.selectFrom('history_start').select('began_at').execute()
  }
  const first = await began(true)
  expect(await began(true)).toEqual(first)
  expect(await began(false)).toEqual([])
  const [again] = await began(true)
  expect(again?.began_at.getTime()).toBeGreaterThan(first[0]?.began_at.getTime() ?? Number.POSITIVE_INFINITY)
})

it.each([
  [30, 0],
  [0, 1],
  [32, 1],
])('a run that ends, with keepHistoryDays %i, leaves %i change of 31 days ago', async (days, left) => {
  await using given = ferry.deps('http://127.0.0.1:9')
  const deps = withPull(given, { keepHistoryDays: days })
  const { submission_id } = await plannedSearch(deps)
  await deps.db
    .insertInto('calculator_value_change')
    .values({
      company_key: 1,
      calculator_key: 1,
      variable_key: 1,
      direction: 'i',
      submission_id,
      before: '1',
      after: '2',
      changed_at: new Date(ferry.clock.at.getTime() - 31 * 86_400_000),
    })
    .execute()
  await finishWithReport(deps, await currentRun())
  expect(await deps.db.selectFrom('calculator_value_change').selectAll().execute()).toHaveLength(left)
})

it('a search that will not get what it asks for is planned all the same, with a warning in the log', async () => {
  const [own, foreign] = [uuid('own'), uuid('foreign')]
  const properties = [
    { id: own, name: 'Brand', isOwnedByInvokingCompany: true, ownerName: 'Us' },
    { id: foreign, name: 'House number', isOwnedByInvokingCompany: false, ownerName: 'Harbour & Hill' },
  ]
  await sql`
    insert into reference_data (kind, id, document, fetched_at, changed_at, version)
    select 'custom_property', value ->> 'id', value, now(), now(), 1
    from jsonb_array_elements(${JSON.stringify(properties)}::jsonb)`.execute(ferry.ledger.db)
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  await using given = ferry.deps('http://127.0.0.1:9')
  const { state } = await plannedSearch({ ...withPull(given, { customPropertyIds: [own, foreign] }), logger })
  expect(state).toBe('planned')
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      msg: 'custom_properties_not_to_be_had',
      properties: [{ property_id: foreign, why: 'not_owned', owner: 'Harbour & Hill' }],
    },
  ])
})

it('a report names ids of custom properties in the settings that the service does not list, once each', async () => {
  const [own, nowhere, other] = [uuid('own'), uuid('nowhere'), uuid('other')]
  await sql`
    insert into reference_data (kind, id, document, fetched_at, changed_at, version)
    values ('custom_property', ${own}, '{"name": "Brand", "isOwnedByInvokingCompany": true}', now(), now(), 1)`.execute(
    ferry.ledger.db,
  )
  const member = contract.names.companiesSearch.customPropertyIds
  const never = { schedule: null, timeZone: 'UTC', missed: 'once', finishBy: null } as const
  const search = { name: 'ours', search: 'companiesSearch', ids: {}, minSeenShare: 0.5, ...never } as const
  await using given = ferry.deps('http://127.0.0.1:9')
  const deps = withPull(given, {
    customPropertyIds: [own, nowhere],
    searches: [
      { ...search, body: { [member]: [own, other] } },
      { ...search, name: 'all', body: { [member]: [own] } },
      { ...search, name: 'standards', search: 'standardsSearch', body: {} },
    ],
  })
  await plannedSearch(deps)
  const { run_id } = await currentRun()
  await finishWithReport(deps, await currentRun())
  const { report } = await deps.db
    .selectFrom('run')
    .select('report')
    .where('run_id', '=', run_id)
    .executeTakeFirstOrThrow()
  const said = (report as RunReport).notices.filter((notice) => notice.includes('does not list'))
  expect(said).toEqual([
    expect.stringMatching(new RegExp(`^pull\\.customPropertyIds names 1 custom property .*: ${nowhere}\\.`)),
    expect.stringMatching(new RegExp(`^The search ours in pull\\.searches names 1 custom property .*: ${other}\\.`)),
  ])
})
