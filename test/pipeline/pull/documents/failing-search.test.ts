import { beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../../../src/config/schema.ts'
import type { Run } from '../../../../src/db/tables/run-tables.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { documentReports } from '../../../../src/pipeline/pull/documents/document-reports.ts'
import { completeDocuments, planDocuments } from '../../../../src/pipeline/pull/documents/document-searches.ts'
import { lookAtPage } from '../../../../src/pipeline/pull/look-at-page.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { documentRemarks } from '../../../../src/pipeline/report/report-words.ts'
import { documentKindNames } from '../../../../src/pipeline/streams/kind-names.ts'
import { contract } from '../../../exchange/test-client.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../../push/ferry.ts'
import { json, type ScriptedService, service } from '../../push/service.ts'

const { names, endpoints, taskStatuses } = contract
const id = '5b3c9a52-8f5a-4f0c-9c39-0f4c2d4f2a11'
const body = { [names.standardHoldersSearch.standardIds]: ['s-1'], more: { as: [1, null, 'is'] } }

const configured = (searches: unknown) => settings.parse({ pull: { searches } }).pull.searches
const one = configured([{ name: 'our_holders', search: 'standardHoldersSearch', body }])

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.ledger.db.deleteFrom('search_seen_document').execute()
  await ferry.ledger.db.deleteFrom('document').execute()
  await ferry.clear()
})

/** A service that accepts the search, and whose task then says what the test lays down. */
const answering = (task: object, pages: Record<string, object> = {}): Promise<ScriptedService> =>
  service({
    [endpoints.standardHoldersSearch.path]: [json({ [names.submitted.correlationId]: id })],
    [endpoints.task.path.replace('{correlationId}', id)]: [json({ [names.task.correlationId]: id, ...task })],
    ...Object.fromEntries(Object.entries(pages).map(([path, page]) => [path, [json(page)]])),
  })

async function run(): Promise<Run> {
  const runId = await ferry.ledger.startRun()
  return await ferry.ledger.db.selectFrom('run').selectAll().where('run_id', '=', runId).executeTakeFirstOrThrow()
}

const searching = (url: string, searches = one) => {
  const deps = ferry.deps(url)
  return { ...deps, config: { ...deps.config, pull: { ...deps.config.pull, searches } } }
}

/** Looks at the only submission until it has ended. */
async function toTheEnd(deps: Deps): Promise<void> {
  for (let look = 0; look < 4; look++) {
    const { submission_id } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .executeTakeFirstOrThrow()
    await lookAtSubmission(deps, submission_id)
  }
}

describe('a search for documents', () => {
  it('a search for documents whose address leads nowhere is refused once that has lasted as long as calls may fail, and fails nothing else', async () => {
    await using server = await service({
      [endpoints.standardHoldersSearch.path]: [(response) => response.writeHead(404).end()],
      [endpoints.tasks.path]: [json([])],
    })
    await using deps = searching(server.url)
    const night = await run()
    await planDocuments(deps, night)
    for (const state of ['planned', 'planned', 'refused']) {
      const { submission_id: id } = await ferry.ledger.db
        .selectFrom('submission')
        .select('submission_id')
        .executeTakeFirstOrThrow()
      await lookAtSubmission(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state })
      ferry.clock.pass(deps.config.exchange.giveUpAfterMs / 2)
    }
    expect(await planDocuments(deps, night)).toBe(false)
  })

  it('a search for documents is planned once, sends the body of the configuration as it stands there, and brings its pages', async () => {
    await using server = await answering(
      { [names.task.status]: taskStatuses.success, [names.task.pageUrls]: [] },
      { '/page': { [names.standardHoldersPage.holders]: [{ companyId: 'c', standardId: 's' }] } },
    )
    await using deps = searching(server.url)
    const night = await run()
    expect(await planDocuments(deps, night)).toBe(true)
    expect(await planDocuments(deps, night)).toBe(true)
    await toTheEnd(deps)
    const posts = server.seen.filter(({ method }) => method === 'POST')
    expect(posts.map((post) => JSON.parse(post.body) as unknown)).toEqual([body])
    expect(await planDocuments(deps, night)).toBe(false)

    const { submission_id } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .executeTakeFirstOrThrow()
    const { page_id } = await ferry.ledger.db
      .insertInto('search_page')
      .values({ submission_id, ordinal: 0, url: `${server.url}/page`, state: 'listed' })
      .returning('page_id')
      .executeTakeFirstOrThrow()
    expect(await planDocuments(deps, night)).toBe(true)
    await lookAtPage(deps, page_id)
    expect(await planDocuments(deps, night)).toBe(false)
    await completeDocuments(deps, night)
    expect(await documentReports(deps.db, night.run_id, documentKindNames)).toMatchObject([
      { search: 'our_holders', pages: 1, documents: 1, added: 1, gone: 0, withheld: null, error_code: null },
    ])
    expect(await deps.db.selectFrom('documents').select(['search', 'list', 'document_id']).execute()).toEqual([
      { search: 'our_holders', list: names.standardHoldersPage.holders, document_id: 'c/s' },
    ])
  })

  it('a search for documents that ends in Error brings nothing, removes nothing, and is a remark', async () => {
    await using server = await answering({
      [names.task.status]: taskStatuses.error,
      [names.task.error]: { [names.task.generalErrorMessages]: ['No such standard.'] },
    })
    await using deps = searching(server.url)
    const night = await run()
    await deps.db
      .insertInto('document')
      .values({ search: 'our_holders', list: 'l', document_id: 'a', content_hash: Buffer.alloc(32), document: '{}' })
      .execute()
    await planDocuments(deps, night)
    await toTheEnd(deps)
    expect(await planDocuments(deps, night)).toBe(false)
    await completeDocuments(deps, night)
    expect(documentRemarks(await documentReports(deps.db, night.run_id, documentKindNames))).toEqual([
      'The search our_holders brought nothing: search_failed: No such standard. Its documents stand as they were.',
    ])
    expect(await deps.db.selectFrom('documents').select('removed_at').execute()).toEqual([{ removed_at: null }])
  })

  it('a search for documents whose page lacks a list of them says which, and keeps them', async () => {
    const { holders, companyId, standardId } = names.standardHoldersPage
    await using server = await answering({ [names.task.status]: taskStatuses.success, [names.task.pageUrls]: [] })
    await using pages = await service({ '/page': [json({ [holders]: [{ [companyId]: 'c', [standardId]: 's' }] })] })
    await using deps = searching(server.url)
    const night = await run()
    await deps.db
      .insertInto('document')
      .values({ search: 'our_holders', list: 'l', document_id: 'a', content_hash: Buffer.alloc(32), document: '{}' })
      .execute()
    await planDocuments(deps, night)
    await toTheEnd(deps)
    const { submission_id } = await deps.db.selectFrom('submission').select('submission_id').executeTakeFirstOrThrow()
    const { page_id } = await deps.db
      .insertInto('search_page')
      .values({ submission_id, ordinal: 0, url: `${pages.url}/page`, state: 'listed' })
      .returning('page_id')
      .executeTakeFirstOrThrow()
    await lookAtPage(deps, page_id)
    await completeDocuments(deps, night)
    expect(documentRemarks(await documentReports(deps.db, night.run_id, documentKindNames))).toEqual([
      'Of the documents of our_holders in l nothing was removed, for the search does not prove absence: list_missing.',
    ])
    expect(await deps.db.selectFrom('documents').select('list').where('removed_at', 'is', null).execute()).toHaveLength(
      2,
    )
  })

  it('a search that loses a page to a name that cannot be stored keeps the reason', async () => {
    await using server = await answering({ [names.task.status]: taskStatuses.success, [names.task.pageUrls]: [] })
    await using pages = await service({ '/page': [(response) => response.end('{"a\\u0000":1,"a\\u0000":1}')] })
    await using deps = searching(server.url)
    await planDocuments(deps, await run())
    await toTheEnd(deps)
    const { submission_id } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .executeTakeFirstOrThrow()
    const { page_id } = await ferry.ledger.db
      .insertInto('search_page')
      .values({ submission_id, ordinal: 0, url: `${pages.url}/page`, state: 'listed' })
      .returning('page_id')
      .executeTakeFirstOrThrow()
    await lookAtPage(deps, page_id)
    expect(
      await deps.db.selectFrom('search_page').select(['failures', 'error_code', 'error_message']).execute(),
    ).toMatchObject([{ failures: 1, error_code: 'page_malformed', error_message: expect.stringContaining('\\u0000') }])
  })

  it('a search that the configuration no longer knows leaves its pages, and removes nothing', async () => {
    await using server = await answering({
      [names.task.status]: taskStatuses.success,
      [names.task.pageUrls]: ['http://127.0.0.1:9/page'],
    })
    await using before = searching(server.url)
    const night = await run()
    await planDocuments(before, night)
    await toTheEnd(before)
    const { page_id } = await ferry.ledger.db.selectFrom('search_page').select('page_id').executeTakeFirstOrThrow()
    await using after = searching(server.url, [])
    await lookAtPage(after, page_id)
    expect(await planDocuments(after, night)).toBe(false)
    await completeDocuments(after, night)
    const reports = await documentReports(after.db, night.run_id, documentKindNames)
    expect(reports).toMatchObject([{ pages: 1, failed_pages: 1, withheld: 'search_not_configured' }])
    expect(documentRemarks(reports)).toHaveLength(2)
  })

  it('a page of a search that this process does not know yet is tried again, for another to load it', async () => {
    await using server = await answering({
      [names.task.status]: taskStatuses.success,
      [names.task.pageUrls]: ['http://127.0.0.1:9/page'],
    })
    await using before = searching(server.url)
    await planDocuments(before, await run())
    await toTheEnd(before)
    const { page_id } = await ferry.ledger.db.selectFrom('search_page').select('page_id').executeTakeFirstOrThrow()
    await using after = searching(server.url, [])
    const page = () => after.db.selectFrom('search_page').select(['state', 'failures', 'error_code']).execute()
    await lookAtPage(after, page_id, { yields: () => 'foreign' })
    expect(await page()).toEqual([{ state: 'listed', failures: 1, error_code: 'search_not_configured' }])
    for (let attempt = 2; attempt <= 6; attempt++) await lookAtPage(after, page_id, { yields: () => 'foreign' })
    expect(await page()).toEqual([{ state: 'failed', failures: 6, error_code: 'search_not_configured' }])
  })

  it('asks for nothing where none is configured, or the guard holds the run', async () => {
    await using server = await answering({})
    await using none = searching(server.url, [])
    const night = await run()
    expect(await planDocuments(none, night)).toBe(false)
    await using deps = searching(server.url)
    expect(await planDocuments(deps, { ...night, held: true })).toBe(false)
    expect(await ferry.ledger.db.selectFrom('submission').selectAll().execute()).toEqual([])
  })
})

describe('pull.searches', () => {
  it.each([
    [
      'two of one name',
      [
        { name: 'a', search: 'standardsSearch' },
        { name: 'a', search: 'companiesSearch' },
      ],
    ],
    ['a search that is none', [{ name: 'a', search: 'calculatorsSearch' }]],
    ['a name that is none', [{ name: 'A b', search: 'standardsSearch' }]],
    ['a body that JSON cannot say', [{ name: 'a', search: 'standardsSearch', body: { n: [Infinity] } }]],
    ['a share above 1', [{ name: 'a', search: 'standardsSearch', minSeenShare: 1.1 }]],
  ])('refuses %s', (_what, searches) => {
    expect(() => configured(searches)).toThrow()
  })

  it('takes a body, ids and a share as they are given, and has a default for each', () => {
    expect(configured([{ name: 'a', search: 'standardsSearch' }])).toEqual([
      {
        ...{ name: 'a', search: 'standardsSearch', body: {}, ids: {}, minSeenShare: 0.5 },
        ...{ schedule: null, timeZone: 'UTC', missed: 'once', finishBy: null },
      },
    ])
  })
})
