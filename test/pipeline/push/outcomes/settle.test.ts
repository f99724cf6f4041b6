import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { adoptUnfinished } from '../../../../src/db/runs/run-life.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { some } from '../../../helpers/some.ts'
import { type Ferry, openFerry } from '../ferry.ts'
import { ids } from '../rows.ts'
import { type Answer, json, refusal, reset, type ScriptedService, service } from '../service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v1/bulk/company-mappings'
const answersPost = '/api/v2/bulk/framework-answers/upsert'
const path = `/api/v2/bulk/tasks/${correlationId}`

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }
const answers = ['1', '2'].map((month) => ({
  partner_id: 'H-1',
  row_key: month,
  content: {
    period_type: 'Monthly',
    year: '2025',
    month,
    data_point_id: ids.number,
    value: '1',
    value_type: 'number',
  },
}))
const accepted = json({ correlationId })
/** Milliseconds from one denial to the next that counts. */
const pollMs = 15_000
const task = (status: string, fields: object = {}) => json({ correlationId, status, ...fields })
const mapped = { companies: [{ id: 'H-1', status: 'Mapped', companyId: ids.company }] }

/** A submission whose correlation id is stored. */
async function sent(deps: Deps, stream = 'properties', rows: Parameters<Ferry['planned']>[2] = [property]) {
  const id = await ferry.planned(deps, stream, rows)
  await lookAtSubmission(deps, id)
  expect((await ferry.submission(id)).state).toBe('accepted')
  await ferry.asked()
  return id
}
const outcome = async (stream: string, key: string) => {
  const { outcome: name, outcome_code, accepted_hash } = await ferry.ledger.row(stream, key)
  return [name, outcome_code, accepted_hash !== null]
}

/** A service with a result file; `file` says where the task has it. */
async function fileService(tasks: (file: (name: string) => Answer) => Answer[], files: Record<string, Answer[]>) {
  let url = ''
  const terminal =
    (name: string): Answer =>
    (response) =>
      task('Success', { file: { url: `${url}${name}` } })(response)
  const server: ScriptedService = await service({ [post]: [accepted], [path]: tasks(terminal), ...files })
  url = server.url
  return server
}

describe('a poll', () => {
  it.each(['Pending', 'Scheduled', 'InProgress', 'Pondering', 'success'])(
    'a poll that finds %s comes back later',
    async (status) => {
      await using server = await service({ [post]: [accepted], [path]: [task(status)] })
      await using deps = ferry.deps(server.url)
      const id = await sent(deps)
      await lookAtSubmission(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', task_status: status, polls: 1 })
      expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(3_750, -3) }])
    },
  )

  it('does not multiply: of two that are to come later only the newest is made', async () => {
    await using server = await service({ [post]: [accepted], [path]: [task('InProgress'), task('InProgress')] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    const afterSending = (await ferry.submission(id)).timer
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ polls: 1, timer: afterSending + 1 })
    await ferry.asked()
    await lookAtSubmission(deps, id, afterSending)
    expect(await ferry.submission(id)).toMatchObject({ polls: 1 })
    expect(await ferry.asked()).toEqual([])
    await lookAtSubmission(deps, id, afterSending + 1)
    expect(await ferry.submission(id)).toMatchObject({ polls: 2, timer: afterSending + 2 })
  })

  it.each<[string, Answer]>([
    ['a reset', reset],
    ['no answer in time', () => {}],
    ['503', refusal(503)],
    ['429', refusal(429)],
    ['HTML', (response) => response.end('<html>')],
    ['another task', json({ correlationId: ids.company, status: 'Success' })],
  ])('a poll that ends in %s changes no outcome', async (_, answer) => {
    await using server = await service({ [post]: [accepted], [path]: [answer] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', failures: 1, task_status: null })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ held_by: id, outcome: null })
    expect(await ferry.asked()).toHaveLength(1)
  })

  it('gives the run up when polls have failed for as long as is tolerated, and no sooner', async () => {
    await using server = await service({ [post]: [accepted], [path]: [refusal(400)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    ferry.clock.pass(899_999)
    await lookAtSubmission(deps, id)
    ferry.clock.pass(1)
    await expect(lookAtSubmission(deps, id)).rejects.toMatchObject({ code: 'exchange_refused' })
    expect((await ferry.submission(id)).state).toBe('accepted')
  })

  it('stops the run at 401 and changes nothing else', async () => {
    await using server = await service({ [post]: [accepted], [path]: [refusal(401), task('InProgress')] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await expect(lookAtSubmission(deps, id)).rejects.toMatchObject({ code: 'exchange_unauthorized' })
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', correlation_id: correlationId })
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).task_status).toBe('InProgress')
  })

  it('a poll that is denied the task three times in a row leaves its rows unknown', async () => {
    await using server = await service({ [post]: [accepted], [path]: [refusal(404)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (const state of ['accepted', 'accepted', 'lost']) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe(state)
      ferry.clock.pass(pollMs)
    }
    expect(await outcome('properties', 'H-1')).toEqual(['unknown', 'task_lost', false])
    expect((await ferry.ledger.row('properties', 'H-1')).held_by).toBeNull()
    expect(await ferry.wave(deps)).toBe(false)
    await ferry.planned(deps, 'properties', [property])
  })

  it('a poll that a gateway does not let through counts as no denial of the task', async () => {
    const gateway: Answer = (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>')
    await using server = await service({
      [post]: [accepted],
      [path]: [
        gateway,
        gateway,
        refusal(404),
        gateway,
        gateway,
        gateway,
        refusal(404),
        refusal(404),
        task('InProgress'),
      ],
    })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (let look = 0; look < 9; look++) {
      await lookAtSubmission(deps, id)
      ferry.clock.pass(pollMs)
    }
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', task_status: 'InProgress' })
  })

  it('a poll that is denied the task sooner than a poll later counts as the same denial', async () => {
    await using server = await service({ [post]: [accepted], [path]: [refusal(404)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (let look = 0; look < 5; look++) {
      await lookAtSubmission(deps, id)
      ferry.clock.pass(1)
    }
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', failures: 1 })
  })

  it('a poll that is denied the task is no call that fails, however long others had failed before', async () => {
    const failing = Array.from({ length: 4 }, () => refusal(503))
    await using server = await service({ [post]: [accepted], [path]: [...failing, refusal(404)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (const state of ['accepted', 'accepted', 'accepted', 'lost']) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe(state)
      ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
    }
  })

  it('does not take a service that fails in other ways for one that forgot the task', async () => {
    const statuses = [503, 503, 404, 404, 400, 400, 404, 404]
    // The client itself asks four times before it reports a 503.
    const calls = statuses.flatMap((status) => (status === 503 ? [status, status, status, status] : [status]))
    const retried = calls.map((status) => refusal(status))
    await using server = await service({ [post]: [accepted], [path]: [...retried, task('InProgress')] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (const _ of some(statuses)) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('accepted')
      ferry.clock.pass(pollMs)
    }
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', task_status: 'InProgress', failures: 0 })
  })
})

describe('a task that names failed rows', () => {
  const march = { identifiedByValue: 'H-1', month: 'February', reason: 'OutOfRange', message: 'Too\0much.' }

  it('rejects what it names and infers the rest after PartialSuccess', async () => {
    const partial = task('PartialSuccess', { error: { rowErrors: [march] }, news: 1 })
    await using server = await service({ [answersPost]: [accepted], [path]: [partial] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps, 'framework_answers', answers)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({
      state: 'settled',
      task_status: 'PartialSuccess',
      unmatched: null,
    })
    expect(await outcome('framework_answers', '1')).toEqual(['inferred', null, true])
    expect(await outcome('framework_answers', '2')).toEqual(['rejected', 'OutOfRange', false])
    expect((await ferry.ledger.row('framework_answers', '2')).outcome_reason).toBe('Too\\u0000much.')
    expect(await ferry.asked()).toMatchObject([{ look: expect.stringMatching(/^look-at-run /) }])
  })

  it.each(['Success', 'PartialSuccess'])(
    'infers nothing after %s with an error that matches no row',
    async (status) => {
      const partial = task(status, { error: { rowErrors: [march, { identifiedByValue: 'H-9' }] } })
      await using server = await service({ [answersPost]: [accepted], [path]: [partial] })
      await using deps = ferry.deps(server.url)
      const id = await sent(deps, 'framework_answers', answers)
      await lookAtSubmission(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'settled', unmatched: [{ partner_id: 'H-9' }] })
      expect(await outcome('framework_answers', '1')).toEqual(['unknown', 'unmatched_errors', false])
      expect(await outcome('framework_answers', '2')).toEqual(['rejected', 'OutOfRange', false])
    },
  )

  it('vouches for nothing after Cancelled without rows', async () => {
    await using server = await service({ [answersPost]: [accepted], [path]: [task('Cancelled')] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps, 'framework_answers', answers)
    await lookAtSubmission(deps, id)
    for (const key of ['1', '2']) {
      expect(await outcome('framework_answers', key)).toEqual(['unknown', 'task_cancelled', false])
    }
    expect(await ferry.wave(deps)).toBe(false)
  })
})

describe('a result file', () => {
  it('settles the submission and maps its properties', async () => {
    await using server = await fileService((file) => [file('/file')], { '/file': [json(mapped)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('settled')
    expect(await outcome('properties', 'H-1')).toEqual(['confirmed', null, true])
    expect(await ferry.ledger.db.selectFrom('mapping').selectAll().execute()).toMatchObject([
      { partner_id: 'H-1', company_id: ids.company, submission_id: id },
    ])
    expect(await ferry.ledger.db.selectFrom('staged_outcome').selectAll().execute()).toEqual([])
    await lookAtSubmission(deps, id)
    expect(server.count('/file')).toBe(1)
  })

  it('a result file that names a company by an absurdly long id settles the others', async () => {
    const digits = Array.from({ length: 1_000 }, (_, at) => createHash('sha256').update(`${at}`).digest('hex')).join('')
    const strange = { ...mapped, companies: [...mapped.companies, { ...mapped.companies[0], id: digits }] }
    await using server = await fileService((file) => [file('/file')], { '/file': [json(strange)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect(await outcome('properties', 'H-1')).toEqual(['confirmed', null, true])
  })

  it.each([403, 404, 410])('a result file whose address has expired (%i) is had by a fresh one', async (status) => {
    await using server = await fileService((file) => [file('/old'), file('/fresh')], {
      '/old': [refusal(status)],
      '/fresh': [json(mapped)],
    })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'terminal', error_code: 'result_file_gone', failures: 1 })
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('settled')
    expect(await outcome('properties', 'H-1')).toEqual(['confirmed', null, true])
    expect([server.count('/old'), server.count('/fresh')]).toEqual([1, 1])
  })

  it('asks for a look at the run that took the submission over while the file was read', async () => {
    let next = 0
    await using server = await fileService((file) => [file('/file')], {
      '/file': [
        async (response) => {
          next = await ferry.ledger.startRun()
          await ferry.ledger.inTransaction((trx) => adoptUnfinished(trx, next, ['calculators_search']))
          json(mapped)(response)
        },
      ],
    })
    await using deps = ferry.deps(server.url)
    await lookAtSubmission(deps, await sent(deps))
    expect(await ferry.asked()).toEqual([{ look: `look-at-run ${next}`, inMs: 0 }])
  })

  it('a result file that is cut short settles nothing, and is read again', async () => {
    const whole = JSON.stringify(mapped)
    const cut: Answer = (response) => response.end(whole.slice(0, -10))
    await using server = await fileService((file) => [file('/file')], { '/file': [cut, json(mapped)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'terminal', error_code: 'result_file_malformed' })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ held_by: id, outcome: null })
    await lookAtSubmission(deps, id)
    expect(await outcome('properties', 'H-1')).toEqual(['confirmed', null, true])
  })

  it('a result file that stays malformed leaves its rows unknown instead of stopping every night', async () => {
    const garbage: Answer = (response) => response.end('{"companies": [nonsense')
    await using server = await fileService((file) => [file('/file')], { '/file': [garbage] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (const state of [...Array.from({ length: 5 }, () => 'terminal'), 'settled']) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe(state)
    }
    expect(await outcome('properties', 'H-1')).toEqual(['unknown', 'result_file_lost', false])
  })

  it('a result file that is gone with its task leaves its rows unknown', async () => {
    await using server = await fileService((file) => [file('/gone'), refusal(404)], { '/gone': [refusal(410)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    for (const state of ['terminal', 'terminal', 'terminal', 'settled']) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe(state)
      ferry.clock.pass(pollMs)
    }
    expect(await outcome('properties', 'H-1')).toEqual(['unknown', 'result_file_lost', false])
  })

  it.each<[string, unknown, string]>([
    ['names nobody', { companies: [] }, 'not_in_result'],
    ['has no list', {}, 'not_in_result'],
    ['names somebody else', { companies: [{ id: 'H-9', status: 'Mapped', companyId: ids.company }] }, 'not_in_result'],
    ['has a status of its own', { companies: [{ id: 'H-1', status: 'Perhaps' }] }, 'Perhaps'],
  ])('a result file that %s accepts nothing', async (_, document, code) => {
    await using server = await fileService((file) => [file('/file')], { '/file': [json(document)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('settled')
    expect(await outcome('properties', 'H-1')).toEqual(['unknown', code, false])
    expect(await ferry.ledger.db.selectFrom('mapping').selectAll().execute()).toEqual([])
  })

  it.each([
    ['Success', 'result_file_missing'],
    ['Cancelled', 'task_cancelled'],
  ])('a result file that is not there after %s accepts nothing', async (status, code) => {
    await using server = await service({ [post]: [accepted], [path]: [task(status)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect(await outcome('properties', 'H-1')).toEqual(['unknown', code, false])
  })

  it('lets the characters of ids and reasons through as they are', async () => {
    const partner_id = 'H "1",\n\\.\n🏨'
    const reason = 'No, "none"\nat \\. all'
    const document = { more: [1], companies: [{ id: partner_id, status: 'NotFound', reason }] }
    await using server = await fileService((file) => [file('/file')], { '/file': [json(document)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps, 'properties', [{ ...property, partner_id }])
    await lookAtSubmission(deps, id)
    expect(await ferry.ledger.row('properties', partner_id)).toMatchObject({
      outcome: 'rejected',
      outcome_code: 'NotFound',
      outcome_reason: reason,
    })
  })
})
