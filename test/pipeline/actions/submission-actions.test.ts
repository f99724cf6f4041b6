import { beforeEach, describe, expect, it, vi } from 'vitest'
import { withSubmissionLock } from '../../../src/db/locks/advisory-lock.ts'
import type { SubmissionState } from '../../../src/db/tables/submission-tables.ts'
import { abandonSubmission } from '../../../src/pipeline/actions/abandon-submission.ts'
import { adoptTask } from '../../../src/pipeline/actions/adopt-task.ts'
import { cancelTask } from '../../../src/pipeline/actions/cancel-task.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { patience } from '../../helpers/patience.ts'
import { openFerry } from '../push/ferry.ts'
import { json, refusal, reset, type ScriptedService, service } from '../push/service.ts'

const ours = '0b6c2f4e-0000-4000-8000-000000000001'
const other = '0b6c2f4e-0000-4000-8000-000000000002'
const post = '/api/v1/bulk/company-mappings'
const task = (id: string) => `/api/v2/bulk/tasks/${id}`
const cancel = (id: string) => `${task(id)}/cancel`
const anna = { user: 'anna', host: 'ferry1' }
const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const mappingTask = (correlationId: string, fields: object = {}) => ({
  correlationId,
  status: 'InProgress',
  taskKind: 'CompanyMappingRequest',
  requestType: null,
  createdAt: new Date().toISOString(),
  ...fields,
})
const actions = () => ferry.ledger.db.selectFrom('action').selectAll().orderBy('action_id').execute()
const theRow = () => ferry.ledger.row('properties', 'H-1')

/** A submission of one property whose POST was answered. */
async function accepted(server: ScriptedService) {
  const deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [property])
  await lookAtSubmission(deps, id)
  expect((await ferry.submission(id)).state).toBe('accepted')
  await ferry.asked()
  return { deps, id, [Symbol.asyncDispose]: () => deps[Symbol.asyncDispose]() }
}

/** The same with an answer that was lost. */
async function uncertain(server: ScriptedService) {
  const deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [property])
  await lookAtSubmission(deps, id)
  expect((await ferry.submission(id)).state).toBe('uncertain')
  await ferry.asked()
  return { deps, id, [Symbol.asyncDispose]: () => deps[Symbol.asyncDispose]() }
}

describe('abandoning', () => {
  it('refuses what became of a submission while a look at it ended, because nobody has seen that', async () => {
    await using server = await service({ [post]: [reset] })
    await using given = await uncertain(server)
    const { pool } = ferry.ledger
    let asked: Promise<unknown> = Promise.resolve()
    await withSubmissionLock(pool, given.id, async () => {
      asked = abandonSubmission(given.deps, given.id, anna)
      asked.catch(() => {})
      await vi.waitFor(async () => {
        const { rows } = await pool.query(
          `select from pg_locks join pg_database on pg_database.oid = database
           where datname = current_database() and locktype = 'advisory' and not granted`,
        )
        expect(rows).toHaveLength(1)
      }, patience)
      await pool.query(
        `update submission set state = 'accepted', correlation_id = $2, attempts = 2 where submission_id = $1`,
        [given.id, ours],
      )
    })
    await expect(asked).rejects.toMatchObject({ code: 'submission_state', message: expect.stringMatching(/accepted/) })
    expect(await ferry.submission(given.id)).toMatchObject({ state: 'accepted', correlation_id: ours })
    expect(await actions()).toEqual([])
  })

  it('makes the rows unknown and pending, lets the run go on without them, and says who did it', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await using given = await accepted(server)
    expect(await abandonSubmission(given.deps, given.id, anna)).toMatchObject({ was: 'accepted', rows: 1, sent: true })
    expect(await ferry.submission(given.id)).toMatchObject({ state: 'abandoned', error_code: 'abandoned' })
    expect(await theRow()).toMatchObject({
      held_by: null,
      accepted_hash: null,
      refused_hash: null,
      outcome: 'unknown',
      outcome_code: 'abandoned',
      outcome_reason: 'given up by anna while it was accepted',
    })
    expect((await ferry.asked()).map(({ look }) => look)).toEqual([expect.stringMatching(/^look-at-run /)])
    expect(await actions()).toMatchObject([
      { verb: 'abandon', acted_by: 'anna', host: 'ferry1', submission_id: given.id, correlation_id: ours, rows: 1 },
    ])
    expect(await ferry.wave(given.deps), 'the same run does not send the row again').toBe(false)
    await ferry.ledger.startRun()
    expect(await ferry.wave(given.deps), 'the next one does').toBe(true)
  })

  it('forgets what was accepted before when new content may have been taken', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await ferry.ledger.startRun()
    await ferry.ledger.landChecked('properties', [{ ...property, content: { name: 'Zum Steg' } }], true)
    await using given = await accepted(server)
    expect((await theRow()).accepted_hash).not.toBeNull()
    await abandonSubmission(given.deps, given.id, anna)
    expect((await theRow()).accepted_hash).toBeNull()
  })

  it('releases rows of which nothing was sent as they were', async () => {
    await using server = await service({})
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    expect(await abandonSubmission(deps, id, anna)).toMatchObject({ was: 'planned', sent: false })
    expect(await theRow()).toMatchObject({ held_by: null, outcome: null })
  })

  it('releases rows of which nothing has left this machine, although their request was written', async () => {
    await using server = await service({})
    await ferry.ledger.startRun()
    await ferry.ledger.landChecked('properties', [{ ...property, content: { name: 'Zum Steg' } }], true)
    await using deps = ferry.deps('http://127.0.0.1:1')
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', attempts: 1, uncertain_since: null })
    const before = await theRow()
    expect(await abandonSubmission(deps, id, anna)).toMatchObject({ was: 'planned', sent: false })
    expect(await theRow()).toMatchObject({
      held_by: null,
      outcome: before.outcome,
      accepted_hash: before.accepted_hash,
      perhaps_taken_at: null,
    })
    await using again = ferry.deps(server.url)
    expect(await ferry.wave(again), 'the same run sends the row').toBe(true)
  })

  it('does not know of rows that may have left before they waited to be sent again', async () => {
    await using server = await service({ [post]: [reset] })
    await using given = await uncertain(server)
    await setState(given.id, 'planned')
    expect(await abandonSubmission(given.deps, given.id, anna)).toMatchObject({ was: 'planned', sent: true })
    expect(await theRow()).toMatchObject({ outcome: 'unknown', outcome_code: 'abandoned' })
  })

  it('takes a submission whose sender is gone for one whose answer is lost', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await using given = await accepted(server)
    await setState(given.id, 'sending')
    expect(await abandonSubmission(given.deps, given.id, anna)).toMatchObject({ was: 'sending' })
    expect((await ferry.submission(given.id)).state).toBe('abandoned')
  })

  it.each<SubmissionState>(['settled', 'refused', 'lost', 'abandoned'])(
    'changes nothing about a submission that is %s, and leaves no trace',
    async (state) => {
      await using server = await service({ [post]: [json({ correlationId: ours })] })
      await using given = await accepted(server)
      await setState(given.id, state)
      await expect(abandonSubmission(given.deps, given.id, anna)).rejects.toMatchObject({ code: 'submission_state' })
      expect(await ferry.submission(given.id)).toMatchObject({ state })
      expect(await actions()).toEqual([])
    },
  )

  it('says that a submission does not exist', async () => {
    await using server = await service({})
    await using deps = ferry.deps(server.url)
    await expect(abandonSubmission(deps, 4711, anna)).rejects.toMatchObject({ code: 'submission_unknown' })
  })
})

describe('adopting', () => {
  it('makes the task the submission’s own, which is then polled and never sent again', async () => {
    await using server = await service({ [post]: [reset], [task(ours)]: [json(mappingTask(ours))] })
    await using given = await uncertain(server)
    expect(await adoptTask(given.deps, given.id, ours, anna)).toMatchObject({
      correlation_id: ours,
      task_status: 'InProgress',
    })
    expect(await ferry.submission(given.id)).toMatchObject({
      state: 'accepted',
      correlation_id: ours,
      error_code: null,
      failing_since: null,
    })
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${given.id}`, inMs: 0 }])
    expect(await actions()).toMatchObject([{ verb: 'adopt', correlation_id: ours, result: 'the task is InProgress' }])
    await lookAtSubmission(given.deps, given.id)
    expect(server.count(post)).toBe(1)
  })

  it.each<[string, object, RegExp]>([
    ['another request type', { requestType: 'BulkUpsertCompanies', taskKind: null }, /request type none; .*BulkUpsert/],
    ['another kind', { taskKind: 'BulkProcessingRequest' }, /kind CompanyMappingRequest; .*BulkProcessingRequest/],
    ['an earlier time', { createdAt: '2001-01-01T00:00:00Z' }, /before submission \d+ was planned/],
  ])('refuses a task of %s', async (_, fields, said) => {
    await using server = await service({ [post]: [reset], [task(other)]: [json(mappingTask(other, fields))] })
    await using given = await uncertain(server)
    const refused = adoptTask(given.deps, given.id, other, anna)
    await expect(refused).rejects.toMatchObject({ code: 'task_not_adoptable', message: expect.stringMatching(said) })
    expect((await ferry.submission(given.id)).state).toBe('uncertain')
    expect(await actions()).toEqual([])
  })

  it('refuses a task that is another submission’s, however its id is spelt', async () => {
    await using server = await service({ [post]: [reset], [task(ours.toUpperCase())]: [json(mappingTask(ours))] })
    await using given = await uncertain(server)
    const { run_id } = await ferry.submission(given.id)
    await ferry.ledger.db
      .insertInto('submission')
      .values({ run_id, kind: 'companies', state: 'settled', row_count: 0, correlation_id: ours })
      .execute()
    const refused = adoptTask(given.deps, given.id, ours.toUpperCase(), anna)
    await expect(refused).rejects.toMatchObject({ code: 'task_not_adoptable' })
    expect((await ferry.submission(given.id)).state).toBe('uncertain')
  })

  it('takes a task for itself, though the list spells its id in capitals and the request was sent twice', async () => {
    await using server = await service({
      [post]: [reset],
      [task(ours)]: [json(mappingTask(ours))],
      '/api/v2/bulk/tasks': [json([mappingTask(ours.toUpperCase(), { createdAt: null })])],
    })
    await using given = await uncertain(server)
    await ferry.ledger.db.updateTable('submission').set({ repeats: 1 }).execute()
    await adoptTask(given.deps, given.id, ours, anna)
    expect(await ferry.submission(given.id)).toMatchObject({ state: 'accepted', correlation_id: ours })
  })

  it('refuses a task that the service does not know', async () => {
    await using server = await service({ [post]: [reset] })
    await using given = await uncertain(server)
    await expect(adoptTask(given.deps, given.id, other, anna)).rejects.toMatchObject({ code: 'exchange_not_found' })
    expect((await ferry.submission(given.id)).state).toBe('uncertain')
  })

  it('refuses where no answer is lost, and asks the service nothing', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await using given = await accepted(server)
    await expect(adoptTask(given.deps, given.id, other, anna)).rejects.toMatchObject({
      code: 'submission_state',
      message: expect.stringContaining(ours),
    })
    expect(server.count(task(other))).toBe(0)
  })
})

describe('cancelling', () => {
  it('reads what became of the rows from the task, as ever', async () => {
    await using server = await service({
      [post]: [json({ correlationId: ours })],
      [cancel(ours)]: [json({})],
      [task(ours)]: [json(mappingTask(ours, { status: 'Cancelled' }))],
    })
    await using given = await accepted(server)
    expect(await cancelTask(given.deps, given.id, anna)).toMatchObject({ cancelled: true, said: null })
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${given.id}`, inMs: 0 }])
    expect((await ferry.submission(given.id)).state, 'only the task says what happened').toBe('accepted')
    await lookAtSubmission(given.deps, given.id)
    expect(await ferry.submission(given.id)).toMatchObject({ state: 'settled', task_status: 'Cancelled' })
    expect(await theRow()).toMatchObject({ held_by: null, outcome: 'unknown', outcome_code: 'task_cancelled' })
    expect(await actions()).toMatchObject([{ verb: 'cancel', correlation_id: ours, result: 'cancelled' }])
  })

  it('shows the refusal of the service as it is, and changes nothing', async () => {
    await using server = await service({
      [post]: [json({ correlationId: ours })],
      [cancel(ours)]: [refusal(409, 'too_late', 'Processing has begun.')],
    })
    await using given = await accepted(server)
    const said = expect.stringMatching(/409 \(too_late: Processing has begun\.\)/)
    expect(await cancelTask(given.deps, given.id, anna)).toMatchObject({ cancelled: false, said })
    expect((await ferry.submission(given.id)).state).toBe('accepted')
    expect(await actions()).toMatchObject([{ verb: 'cancel', result: expect.stringMatching(/^not cancelled: .*409/) }])
  })

  it('asks once, and leaves what it asked on record when the answer never comes', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })], [cancel(ours)]: [reset] })
    await using given = await accepted(server)
    await expect(cancelTask(given.deps, given.id, anna)).rejects.toMatchObject({ code: 'exchange_unreachable' })
    expect(server.count(cancel(ours))).toBe(1)
    expect(await actions()).toMatchObject([{ verb: 'cancel', result: expect.stringMatching(/may have arrived/) }])
  })

  it.each<[SubmissionState, RegExp]>([
    ['planned', /waits to be sent/],
    ['uncertain', /nightferry adopt/],
    ['terminal', /has ended/],
    ['settled', /is settled/],
  ])('asks the service nothing about a submission that is %s', async (state, said) => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await using given = await accepted(server)
    await setState(given.id, state)
    const refused = cancelTask(given.deps, given.id, anna)
    await expect(refused).rejects.toMatchObject({ code: 'submission_state', message: expect.stringMatching(said) })
    expect(server.count(cancel(ours))).toBe(0)
  })
})

async function setState(id: number, state: SubmissionState): Promise<void> {
  await ferry.ledger.db.updateTable('submission').set({ state }).where('submission_id', '=', id).execute()
}
