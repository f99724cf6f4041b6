import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { keyFingerprint } from '../../../src/pipeline/gate/shared-gate.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { noteUnknownTasks, unknownTaskNews } from '../../../src/pipeline/push/sending/unknown-tasks.ts'
import { requestElsewhere } from '../../db/ledger/ledger.ts'
import { apiKey } from '../../exchange/test-client.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { type Answer, json, refusal, service } from '../push/service.ts'

const list = '/api/v2/bulk/tasks'
const post = '/api/v2/bulk/framework-answers/upsert'
const lastSent = new Date('2026-11-21T02:00:00Z')
const known = '0b6c2f4e-0000-4000-8000-000000000001'
const foreign = '0b6c2f4e-0000-4000-8000-00000000000f'
const answer = { period_type: 'Monthly', year: '2025', month: '1', data_point_id: ids.number, value: '1' }
const answerRow = { partner_id: 'H-1', row_key: '1', content: { ...answer, value_type: 'number' } }
const import_ = { taskKind: 'BulkProcessingRequest', requestType: 'BulkUpsertFrameworkAnswers' }
const mapping = { taskKind: 'CompanyMappingRequest', requestType: null }

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

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

/** A ledger that sent a request with a key whose name at the service is known. */
async function sentBefore(deps: Pick<Deps, 'db' | 'required'>): Promise<void> {
  const fingerprint = keyFingerprint(apiKey, deps.required.baseUrl)
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
}

/** A run that begins after one that sent a request; what is noted on it, and what a report says of it. */
async function begun(answer: Answer) {
  await using server = await service({ [list]: [answer] })
  await using deps = ferry.deps(server.url)
  await sentBefore(deps)
  const run_id = await ferry.ledger.startRun()
  await noteUnknownTasks(deps, { run_id })
  return await unknownTaskNews(deps.db, run_id)
}

const newestRun = async () =>
  (
    await ferry.ledger.db
      .selectFrom('run')
      .select((eb) => eb.fn.max('run_id').as('run_id'))
      .executeTakeFirstOrThrow()
  ).run_id

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

  it('imports that the ledger does not know are none whose ids the list spells in capitals', async () => {
    const spelled = task({ ...import_, correlationId: known.toUpperCase() })
    expect(await begun(json([spelled]))).toEqual({ remarks: [], notices: [] })
  })

  it('imports that the ledger does not know are worth knowing alone once an earlier run has told of some', async () => {
    await begun(json([task(import_)]))
    // A run that failed has told nobody.
    expect((await begun(json([task(import_)]))).remarks).toHaveLength(1)
    await ferry.ledger.db.updateTable('run').set({ state: 'finished', report: '{}' }).execute()
    const { remarks, notices } = await begun(json([task(import_), task({ ...import_, correlationId: 'another' })]))
    expect(remarks).toEqual([])
    expect(notices).toEqual([expect.stringContaining('2 imports')])
  })

  it('imports that the ledger does not know are told by the next report, where the run that found them has sent and failed', async () => {
    await begun(json([task(import_)]))
    const sent = { kind: 'framework_answers', state: 'settled' as const, row_count: 0 }
    const attempted_at = new Date(lastSent.getTime() + 61 * 60_000)
    const found = await newestRun()
    await ferry.ledger.db
      .insertInto('submission')
      .values({ ...sent, run_id: found, attempted_at })
      .execute()
    const { remarks, notices } = await begun(json([task(import_)]))
    expect(remarks).toEqual([expect.stringContaining('1 import')])
    expect(notices).toEqual([])
    await ferry.ledger.db
      .updateTable('run')
      .set({ state: 'finished', report: '{}' })
      .where('run_id', '=', await newestRun())
      .execute()
    expect(await begun(json([task(import_)]))).toEqual({ remarks: [], notices: [] })
    const later = await begun(json([task({ ...import_, after: 120 })]))
    expect(later, 'people were told by the report of the next run').toEqual({
      remarks: [],
      notices: [expect.stringContaining('1 import')],
    })
  })

  it('imports that the ledger does not know are something to look at again long after a run that failed found some', async () => {
    await begun(json([task(import_)]))
    const found = await newestRun()
    const ended = async (run: number, state: 'failed' | 'finished', daysAgo: number) =>
      await sql`
        update run set state = ${state}, started_at = clock_timestamp() - ${daysAgo} * interval '1 day'
        where run_id = ${run}`.execute(ferry.ledger.db)
    await ended(found, 'failed', 400)
    await ended(await ferry.ledger.startRun(), 'finished', 399)
    await ended(await ferry.ledger.startRun(), 'finished', 1)
    const { remarks, notices } = await begun(json([task(import_)]))
    expect(remarks).toEqual([expect.stringContaining('1 import')])
    expect(notices).toEqual([])
  })

  it('imports that the ledger does not know are something to look at in the night, whatever a job beside it has found and searched', async () => {
    await begun(json([task(import_)]))
    const found = await newestRun()
    await ferry.ledger.db
      .updateTable('run')
      .set({ job: 'pull-calculators', state: 'finished', report: '{}' })
      .where('run_id', '=', found)
      .execute()
    await ferry.ledger.db
      .insertInto('submission')
      .values({
        ...{ run_id: found, kind: 'calculators_search', state: 'settled', row_count: 0 },
        attempted_at: new Date(lastSent.getTime() + 61 * 60_000),
      })
      .execute()
    expect((await begun(json([task(import_)]))).remarks).toEqual([expect.stringContaining('1 import')])
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

  it('a task proves nothing that came before what another destination was sent last with the same key', async () => {
    await using _ = await requestElsewhere(ferry.ledger, { state: 'settled' })
    const twoDays = 2 * 24 * 60
    await using server = await service({ [list]: [json([task({ ...import_, after: twoDays + 5 })])] })
    await using deps = ferry.deps(server.url)
    await sentBefore(deps)
    await sql`
      update submission
      set attempted_at = ${new Date(lastSent.getTime() + twoDays * 60_000)},
          key_fingerprint = ${keyFingerprint(apiKey, deps.required.baseUrl)}
      from run where run.run_id = submission.run_id and destination_id <> destination_in_use()`.execute(deps.db)
    const run_id = await ferry.ledger.startRun()
    await noteUnknownTasks(deps, { run_id })
    expect(await unknownTaskNews(deps.db, run_id)).toEqual({ remarks: [], notices: [] })
  })

  it('a task proves nothing that another request of the run made while the list was read', async () => {
    const answer: Answer = async (response) => {
      await sql`
        insert into submission (run_id, kind, state, row_count, attempted_at)
        select max(run_id), 'framework_answers', 'sending', 0, ${new Date(lastSent.getTime() + 59 * 60_000)} from run`.execute(
        ferry.ledger.db,
      )
      json([task(import_)])(response)
    }
    expect(await begun(answer)).toEqual({ remarks: [], notices: [] })
  })

  it('imports that the ledger does not know are looked for again by the next run, where the list cannot be read', async () => {
    expect(await begun(refusal(503))).toEqual({ remarks: [], notices: [] })
  })

  it.each([
    ['a copy that is put back runs under another server', `pg_postmaster_start_time() - interval '1 day'`, 1],
    ['a run that goes on under the server that it began under asks no more', 'pg_postmaster_start_time()', 0],
    ['a request of an earlier run is sent again as a run begins', 'null', 1],
  ])('imports that the ledger does not know are looked for before a run sends: %s', async (_, under, asked) => {
    await using server = await service({ [list]: [json([task(import_)])], [post]: [json({ correlationId: 'sent' })] })
    await using deps = ferry.deps(server.url)
    await sentBefore(deps)
    const id = await ferry.planned(deps, 'framework_answers', [answerRow])
    await sql`update run set tasks_checked_under = ${sql.raw(under)}`.execute(deps.db)
    const { run_id } = await ferry.submission(id)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted' })
    expect((await unknownTaskNews(deps.db, run_id)).remarks).toHaveLength(asked)
    // What it has sent by now hides nothing, and it is asked once.
    await noteUnknownTasks(deps, { run_id })
    expect((await unknownTaskNews(deps.db, run_id)).remarks).toHaveLength(asked)
    expect(server.count(list)).toBe(asked)
  })
})
