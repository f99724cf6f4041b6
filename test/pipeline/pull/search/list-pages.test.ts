import { expect, test } from 'vitest'
import { listPages } from '../../../../src/pipeline/pull/search/search-pages.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../../push/ferry.ts'

const ferry = await ofThisFile(openFerry())

test('lists as many pages as a search has, in their order, each address once, and asks for a look at each', async () => {
  await using deps = ferry.deps('http://127.0.0.1:1')
  const id = await ferry.planned(deps, 'properties', [{ partner_id: 'H-1', content: { name: 'Zur Brücke' } }])
  const submission = await ferry.submission(id)
  await ferry.asked()
  const pageUrls = Array.from({ length: 20_000 }, (_, at) => `https://files.example/${at}`)
  const task = {
    correlationId: 'x',
    status: 'Success',
    phase: 'terminal' as const,
    known: true,
    requestType: null,
    taskKind: null,
    createdAt: null,
    apiKeyId: null,
    pageUrls,
    fileUrl: null,
    generalErrors: [],
    rowErrors: [],
    raw: {},
  }
  const twice = [...pageUrls, ...pageUrls.slice(0, 3)]
  await deps.db.transaction().execute((trx) => listPages(deps, trx, submission, { ...task, pageUrls: twice }))
  const listed = await deps.db.selectFrom('search_page').select(['url', 'state']).orderBy('ordinal').execute()
  expect(listed).toEqual(pageUrls.map((url) => ({ url, state: 'listed' })))
  expect(await ferry.asked()).toHaveLength(20_000)
})
