import { afterAll, beforeAll, expect, test } from 'vitest'
import { exactText, parseExact } from '../../console/src/exact.ts'
import { startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from './in-process.ts'

const company = '00000000-0000-4000-8000-000000000001'
/** As `jsonb` writes it. No double has these digits. */
const kept = `{"id": 12345678901234567890, "name": "1.10 \\"and\\" 12345678901234567890", "tiny": [-0.10, 7], "share": 1.10, "hotelId": "${company}"}`

let world: World
let api: ReadingApi
beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 1 })
  api = readingApi(world)
  await world.pool.query(`
    insert into run (job, trigger, scheduled_for, state, step) values ('push', 'cli', now(), 'finished', 'report');
    insert into submission (run_id, kind, partition, state, row_count)
      select run_id, 'properties', '', 'settled', 0 from run;
    insert into mapping (partner_id, company_id, submission_id)
      select 'H-1', '${company}', submission_id from submission`)
  await world.pool.query(
    `insert into document (search, list, document_id, content_hash, document)
     values ('companies', 'companies', $1, '\\x00', $2)`,
    [company, kept],
  )
  await world.pool.query(
    `insert into document (search, list, document_id, content_hash, document)
     values ('other', 'holders', 'one', '\\x00', $1)`,
    [JSON.stringify({ companyId: company })],
  )
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

const path = '/v1/hotels/H-1/documents'

test('a document of a hotel leaves the API with every digit that the service wrote', async () => {
  const text = await api.text(path)
  expect(text).toContain(`"document":${kept}`)
  expect(JSON.parse(text)).toMatchObject({
    documents: expect.arrayContaining([
      expect.objectContaining({ search: 'companies', document_id: company, removed_at: null }),
      expect.objectContaining({ search: 'other', document: { companyId: company } }),
    ]),
    more: false,
  })
  expect(JSON.parse(await api.text(`${path}?limit=1`))).toMatchObject({ documents: [{}], more: true })
})

test('a document of a hotel is shown by the console with every digit that the service wrote', async () => {
  const { documents } = parseExact<{ documents: { search: string; document: unknown }[] }>(await api.text(path))
  const shown = documents.filter(({ search }) => search === 'companies').map(({ document }) => exactText(document))
  expect(shown).toEqual([
    '{"id":12345678901234567890,"name":"1.10 \\"and\\" 12345678901234567890","tiny":[-0.10,7],"share":1.10,"hotelId":"00000000-0000-4000-8000-000000000001"}',
  ])
})
