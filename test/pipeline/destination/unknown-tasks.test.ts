import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noteUnknownTasks, unknownTaskNews } from '../../../src/pipeline/destination/check-destination.ts'
import { keyFingerprint } from '../../../src/pipeline/gate/shared-gate.ts'
import { apiKey } from '../../exchange/test-client.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { type Answer, json, refusal, service } from '../push/service.ts'

const list = '/api/v2/bulk/tasks'
const lastSent = new Date('2026-11-21T02:00:00Z')
const known = '0b6c2f4e-0000-4000-8000-000000000001'
const foreign = '0b6c2f4e-0000-4000-8000-00000000000f'
const import_ = { taskKind: 'BulkProcessingRequest', requestType: 'BulkUpsertFrameworkAnswers' }
const mapping = { taskKind: 'CompanyMappingRequest', requestType: null }

let ferry: Ferry
beforeAll(async () => {
  ferry = await openFerry()
})
beforeEach(() => ferry.clear())
afterAll(() => ferry.close())

type Listed = {
  taskKind: string
  requestType: string | null
  correlationId?: string
  after?: number
  apiKeyId?: string
}

/** What the service lists, so many minutes after the ledger sent last. */
const task = ({ correlationId = foreign, after = 60, apiKeyId = 'key-1', ...named }: Listed) => ({
  correlationId,
  status: 'Success',
  createdAt: new Date(lastSent.getTime() + after * 60_000).toISOString(),
  apiKeyId,
  ...named,
})

/** A run that begins after one that sent a request; what is noted on it, and what a report says of it. */
async function begun(answer: Answer) {
  await using server = await service({ [list]: [answer] })
  await using deps = ferry.deps(server.url)
  const fingerprint = keyFingerprint(apiKey, server.url)
  await sql`delete from service_key`.execute(deps.db)
  await sql`insert into service_key (fingerprint, api_key_id) values (${fingerprint}, 'key-1')`.execute(deps.db)
  const before = await ferry.ledger.startRun()
  await deps.db
    .insertInto('submission')
    .values({
      run_id: before,
      kind: 'framework_answers',
      state: 'settled',
      row_count: 0,
      attempted_at: lastSent,
      correlation_id: known,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const run_id = await ferry.ledger.startRun()
  await noteUnknownTasks(deps, { run_id })
  return await unknownTaskNews(deps.db, run_id)
}

describe('imports that the ledger does not know', () => {
  it.each([
    ['an import', import_],
    ['a mapping', mapping],
  ])(
    'imports that the ledger does not know are something to look at: %s that came after all it sent',
    async (_, named) => {
      const { remarks, notices } = await begun(json([task(named), task({ ...named, correlationId: known })]))
      expect(remarks).toEqual([expect.stringMatching(/1 import .* 2026-11-21 03:00 UTC \(task 0b6c2f4e.*resend --all/)])
      expect(notices).toEqual([])
    },
  )

  it('imports that the ledger does not know are worth knowing alone once an earlier run has told of some', async () => {
    await begun(json([task(import_)]))
    // A run that failed has told nobody.
    expect((await begun(json([task(import_)]))).remarks).toHaveLength(1)
    await ferry.ledger.db.updateTable('run').set({ report: '{}' }).execute()
    const { remarks, notices } = await begun(json([task(import_), task({ ...import_, correlationId: 'another' })]))
    expect(remarks).toEqual([])
    expect(notices).toEqual([expect.stringContaining('2 imports')])
  })

  it.each([
    ['is a search, which verbs make as well', { taskKind: 'BulkProcessingRequest', requestType: 'BulkGetCompanies' }],
    ['is of another key', { ...import_, apiKeyId: 'key-2' }],
    ['may be a request of which the answer was lost', { ...import_, after: 9 }],
    ['came before what the ledger sent last', { ...import_, after: -60 }],
    ['is a request of the ledger', { ...import_, correlationId: known }],
  ])('a task proves nothing that %s', async (_, listed) => {
    expect(await begun(json([task(listed)]))).toEqual({ remarks: [], notices: [] })
  })

  it('imports that the ledger does not know are looked for again by the next run, where the list cannot be read', async () => {
    expect(await begun(refusal(503))).toEqual({ remarks: [], notices: [] })
  })
})
