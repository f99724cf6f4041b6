import { beforeEach, describe, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { requestElsewhere } from '../../db/ledger/ledger.ts'
import { testClient } from '../../exchange/test-client.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { type Answer, json, refusal, reset, service } from './service.ts'

const ours = '0b6c2f4e-0000-4000-8000-000000000001'
const second = '0b6c2f4e-0000-4000-8000-000000000002'
const foreign = '0b6c2f4e-0000-4000-8000-00000000000f'
const post = '/api/v1/bulk/company-mappings'
const list = '/api/v2/bulk/tasks'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }

const mappingTask = (correlationId: string, status: string, createdAt = ferry.clock.at) => ({
  correlationId,
  status,
  taskKind: 'CompanyMappingRequest',
  requestType: null,
  createdAt: createdAt.toISOString(),
})

describe('a POST whose answer was lost', () => {
  it.each<[string, Answer]>([
    ['a reset', reset],
    ['no answer in time', () => {}],
    ['a gateway that gave up', json({ errorCode: 'x', message: 'Bad gateway' }, 502)],
    ['a success that is no answer', json('<html>')],
  ])(
    'a POST whose answer was lost is not sent again at once after %s: the task list is asked for first',
    async (_, answer) => {
      await using server = await service({ [post]: [answer], [list]: [json([])] })
      await using deps = ferry.deps(server.url)
      const id = await ferry.planned(deps, 'properties', [property])
      await lookAtSubmission(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', correlation_id: null, attempts: 1 })
      expect(server.count(post)).toBe(1)
      await lookAtSubmission(deps, id)
      expect(server.count(list)).toBe(1)
      expect(server.count(post)).toBe(1)
      expect((await ferry.submission(id)).state).toBe('uncertain')
    },
  )

  it('a POST whose answer was lost is sent once more, the same, when no task that may be ours is unfinished and the grace has passed', async () => {
    await using server = await service({
      [post]: [reset, json({ correlationId: second })],
      [list]: [
        json([mappingTask(foreign, 'InProgress')]),
        json([mappingTask(foreign, 'Pondering')]),
        json([mappingTask(foreign, 'Success')]),
      ],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    await ferry.asked()

    ferry.clock.pass(3_600_000)
    await lookAtSubmission(deps, id)
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(15_000, -3) }])
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('uncertain')
    expect(server.count(post)).toBe(1)

    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', repeats: 1 })
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', correlation_id: second, attempts: 2 })
    const bodies = server.seen.filter(({ path }) => path === post).map(({ body }) => body)
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toBe(bodies[0])
  })

  it.each<[string, Answer]>([
    ['a gateway that gave up', json({ errorCode: 'x', message: 'Bad gateway' }, 502)],
    ['a success without an id', json({ id: ours })],
    ['an id that cannot be stored', json({ correlationId: 'a\u0000b' })],
    ['an id that is too long to be found by', json({ correlationId: 'x'.repeat(9_000) })],
    ['an id that climbs out of its path', json({ correlationId: '..' })],
  ])('a POST whose answer was lost is not sent for ever: it is given up when every answer is %s', async (_, answer) => {
    await using server = await service({ [post]: [answer], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    for (let look = 0; look < 30; look++) {
      await lookAtSubmission(deps, id)
      ferry.clock.pass(60_000)
    }
    expect(await ferry.submission(id)).toMatchObject({ state: 'refused', error_code: 'answers_lost' })
    expect(server.count(post)).toBeLessThan(10)
  })

  it('finds its way in a task list of any length, whatever its ids hold', async () => {
    const tasks = Array.from({ length: 70_000 }, (_, at) =>
      mappingTask(`task-${at}`, 'Success', new Date(ferry.clock.at.getTime() - at * 1000)),
    )
    await using server = await service({
      [post]: [reset, json({ correlationId: second })],
      [list]: [json([...tasks, mappingTask('a\u0000b', 'Success')])],
    })
    await using client = testClient(server.url, { maxAnswerBytes: 64_000_000 })
    await using given = ferry.deps(server.url)
    const deps = { ...given, exchange: client }
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(3_600_000)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
  })

  const later = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, at) =>
      mappingTask(`${prefix}-${at}`, 'Success', new Date(ferry.clock.at.getTime() + 1000)),
    )

  it('a POST whose answer was lost is not sent again while a task runs that was listed once and is listed no longer', async () => {
    const running = json(mappingTask(foreign, 'InProgress'))
    const ended = json(mappingTask(foreign, 'Success'))
    await using server = await service({
      [post]: [reset, json({ correlationId: second })],
      // The first reading shows what may be ours; by the next ones a sibling has filled the list.
      [list]: [
        json([mappingTask(foreign, 'InProgress')]),
        json([mappingTask(foreign, 'InProgress'), ...later(30, 'a')]),
        json(later(30, 'a')),
      ],
      [`${list}/${foreign}`]: [running, ended],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    for (const asked of [0, 0, 1]) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('uncertain')
      expect(server.count(`${list}/${foreign}`)).toBe(asked)
    }
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', listed: null, correlation_id: null })
    expect(server.count(post)).toBe(1)
  })

  it('a POST whose answer was lost is sent again where the service says three times in a row that it knows no longer a task that was listed once', async () => {
    const running = json(mappingTask(foreign, 'InProgress'))
    await using server = await service({
      [post]: [reset],
      [list]: [json([mappingTask(foreign, 'InProgress')]), json([])],
      [`${list}/${foreign}`]: [refusal(404), refusal(404), running, refusal(404)],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    await ferry.asked()
    for (let look = 0; look < 6; look++) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('uncertain')
      expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(15_000, -3) }])
      ferry.clock.pass(15_000)
    }
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
    expect(server.count(post)).toBe(1)
  })

  it('a POST whose answer was lost is not sent again over looks that follow each other closely, however often they are told that a task is unknown', async () => {
    await using server = await service({
      [post]: [reset],
      [list]: [json([mappingTask(foreign, 'InProgress')]), json([])],
      [`${list}/${foreign}`]: [refusal(404)],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    for (let look = 0; look < 6; look++) {
      await lookAtSubmission(deps, id)
      ferry.clock.pass(1_000)
    }
    expect((await ferry.submission(id)).state).toBe('uncertain')
    expect(server.count(`${list}/${foreign}`)).toBe(5)
  })

  it('a POST whose answer was lost is not sent again while nobody but a gateway says that a task is not found', async () => {
    const gateway: Answer = (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>')
    await using server = await service({
      [post]: [reset],
      [list]: [json([mappingTask(foreign, 'InProgress')]), json([])],
      [`${list}/${foreign}`]: [gateway],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    for (let look = 0; look < 6; look++) await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', error_code: 'exchange_failed' })
    expect(server.count(post)).toBe(1)
  })

  it('a POST whose answer was lost is not sent for ever where the list fails now and then', async () => {
    const lost = json({ errorCode: 'x', message: 'Bad gateway' }, 504)
    const broken: Answer = (response) => response.destroy()
    await using server = await service({ [post]: [lost], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    for (let look = 0; look < 60; look++) {
      const fails = look % 7 === 6
      await using failing = await service({ [post]: [lost], [list]: [broken] })
      await using there = ferry.deps(failing.url)
      await lookAtSubmission(fails ? { ...deps, exchange: there.exchange } : deps, id)
      ferry.clock.pass(60_000)
    }
    expect(await ferry.submission(id)).toMatchObject({ state: 'refused', error_code: 'answers_lost' })
    expect(server.count(post)).toBeLessThan(12)
  })

  it.each([15, 100])(
    'stays uncertain, and says why, where a list of %i tasks does not reach back to it; the run stops, and after hours it is sent',
    async (length) => {
      await using server = await service({ [post]: [reset], [list]: [json(later(length, 'x'))] })
      await using deps = ferry.deps(server.url)
      const id = await ferry.planned(deps, 'properties', [property])
      await lookAtSubmission(deps, id)
      ferry.clock.pass(60_000)
      await lookAtSubmission(deps, id)
      expect(await ferry.submission(id)).toMatchObject({
        state: 'uncertain',
        error_code: 'task_list_too_short',
        error_message: expect.stringContaining('nightferry adopt'),
      })
      ferry.clock.pass(900_000)
      await expect(lookAtSubmission(deps, id)).rejects.toMatchObject({ code: 'task_list_too_short' })
      expect(server.count(post)).toBe(1)
      // The next run takes it over, as one does that was begun too soon.
      await ferry.ledger.db.updateTable('submission').set({ answers_lost_since: null }).execute()
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('uncertain')
      ferry.clock.pass(21_600_000)
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('planned')
    },
  )

  it('a POST whose answer was lost is sent again however much another destination had accepted before', async () => {
    await using server = await service({ [post]: [reset], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    await using _ = await requestElsewhere(ferry.ledger, { state: 'settled', acceptedAt: ferry.clock.at })
    ferry.clock.pass(3_600_000)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', repeats: 1 })
  })

  it('knows by a task of its own from before that the list reaches back, whatever its clock says', async () => {
    await using server = await service({
      [post]: [json({ correlationId: ours }), reset],
      [list]: [json([...later(50, 'x'), mappingTask(ours, 'Success', new Date('2026-11-22T00:00:00Z'))])],
    })
    await using deps = ferry.deps(server.url)
    await lookAtSubmission(deps, await ferry.planned(deps, 'properties', [property]))
    ferry.clock.pass(1_000)
    await ferry.ledger.landChecked('properties', [{ ...property, partner_id: 'H-2' }])
    await ferry.ledger.db.deleteFrom('kind_sweep').execute()
    await ferry.wave(deps)
    const { submission_id: id } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .where('state', '=', 'planned')
      .executeTakeFirstOrThrow()
    await lookAtSubmission(deps, id)
    ferry.clock.pass(30_000)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
  })

  it.each([
    ['capitals', ours.toUpperCase(), ours],
    ['small letters', ours, ours.toUpperCase()],
  ])('does not wait for a task of another submission that is listed in %s', async (_, spelled, correlation_id) => {
    await using server = await service({ [post]: [reset], [list]: [json([mappingTask(spelled, 'InProgress')])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    const { run_id } = await ferry.submission(id)
    const other = { run_id, kind: 'company_mappings', state: 'accepted', row_count: 0 } as const
    await ferry.ledger.db
      .insertInto('submission')
      .values({ ...other, correlation_id })
      .execute()
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', repeats: 1 })
  })

  it('waits out the grace although nothing is listed yet', async () => {
    await using server = await service({ [post]: [reset, json({ correlationId: second })], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(29_999)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('uncertain')
    ferry.clock.pass(1)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
  })

  it('waits out the grace from when the answer was lost, however long the POST had taken by then', async () => {
    const slow: Answer = (response) => {
      ferry.clock.pass(60_000)
      reset(response)
    }
    await using server = await service({ [post]: [slow, json({ correlationId: second })], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(500)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('uncertain')
    ferry.clock.pass(29_500)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
  })

  it('a POST whose answer was lost does not wait for tasks that were made long after it', async () => {
    const young = new Date(ferry.clock.at.getTime() + 7 * 3_600_000)
    await using server = await service({
      [post]: [reset],
      [list]: [json([mappingTask(ours, 'Success'), mappingTask(foreign, 'InProgress', young)])],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(8 * 3_600_000)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
  })

  it('does not wait for tasks of our own other submissions', async () => {
    await using server = await service({
      [post]: [json({ correlationId: ours }), reset],
      [list]: [json([mappingTask(ours, 'InProgress')])],
    })
    await using deps = ferry.deps(server.url)
    await lookAtSubmission(deps, await ferry.planned(deps, 'properties', [property]))
    // Rows land before a run plans; what comes later is seen once all rows are looked over again.
    await ferry.ledger.landChecked('properties', [{ ...property, partner_id: 'H-2' }])
    await ferry.ledger.db.deleteFrom('kind_sweep').execute()
    await ferry.wave(deps)
    const { submission_id: id } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .where('state', '=', 'planned')
      .executeTakeFirstOrThrow()
    await lookAtSubmission(deps, id)
    ferry.clock.pass(30_000)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
  })

  it('bears a call that fails once, however long it has waited for a task until then', async () => {
    await using server = await service({
      [post]: [reset, json({ errorCode: 'x', message: 'm' }, 429)],
      [list]: [json([mappingTask(foreign, 'InProgress')]), json([mappingTask(foreign, 'Success')])],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    await lookAtSubmission(deps, id)
    ferry.clock.pass(1_200_000)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', failures: 0 })
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', failures: 1 })
  })

  it('stays uncertain while the task list cannot be read', async () => {
    await using server = await service({ [post]: [reset], [list]: [json({ errorCode: 'x', message: 'm' }, 503)] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', error_code: 'exchange_failed', failures: 1 })
    expect(server.count(post)).toBe(1)
  })

  it('a POST whose answer was lost is uncertain, too, when the one that sent it is gone', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.ledger.db.updateTable('submission').set({ state: 'sending', attempted_at: ferry.clock.at }).execute()
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('uncertain')
    expect(server.seen).toEqual([])
  })
})

describe('a POST that did not get through', () => {
  it('a POST that did not get through is planned again when nothing was sent', async () => {
    await using server = await service({})
    const { url } = server
    await server[Symbol.asyncDispose]()
    await using deps = ferry.deps(url)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.asked()
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', error_code: 'exchange_unreachable' })
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(1_000, -3) }])
  })

  it('waits as long as the service asks after 429', async () => {
    const throttled: Answer = (response) => response.writeHead(429, { 'retry-after': '30' }).end()
    await using server = await service({ [post]: [throttled] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.asked()
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(30_000, -3) }])
  })

  it('stops the run at 401 and is sent when the key is fixed', async () => {
    const unknownKey = json({ errorCode: 'unauthorized', message: 'Who are you?' }, 401)
    await using server = await service({ [post]: [unknownKey, json({ correlationId: ours })] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await expect(lookAtSubmission(deps, id)).rejects.toMatchObject({ code: 'exchange_unauthorized' })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ held_by: id, outcome: null })
    expect((await ferry.submission(id)).state).toBe('planned')
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', correlation_id: ours })
  })

  it('a POST that did not get through is refused at 413 under a code of ours, with the words that the service has for it', async () => {
    const tooLarge = json({ errorCode: 'payload_limit', message: 'Too much.' }, 413)
    await using server = await service({ [post]: [tooLarge] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'refused', error_code: 'request_too_large' })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({
      outcome: 'rejected',
      outcome_code: 'request_too_large',
      outcome_reason: 'the request as a whole is too large (413; payload_limit: Too much.)',
    })
    // Alone it is too large whatever else is sent, so it is kept out until it changes.
    await expect(ferry.planned(deps, 'properties', [property])).rejects.toThrow('one planned submission was expected')
    await ferry.planned(deps, 'properties', [{ ...property, content: { name: 'Shorter' } }])
  })

  it('a POST that did not get through is refused at 403: its rows are rejected, and sent again by the next run, not in this one', async () => {
    const forbidden = json({ errorCode: 'group_forbidden', message: 'Not your\0 group.' }, 403)
    await using server = await service({ [post]: [forbidden, json({ correlationId: ours })] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'refused', error_code: 'group_forbidden' })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({
      held_by: null,
      outcome: 'rejected',
      outcome_code: 'group_forbidden',
      outcome_reason: 'Not your\\u0000 group.',
      accepted_hash: null,
      refused_hash: null,
    })
    expect(await ferry.wave(deps)).toBe(false)
    await lookAtSubmission(deps, id)
    expect(server.count(post)).toBe(1)
    const again = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, again)
    expect(server.count(post)).toBe(2)
  })
})

describe('a look', () => {
  it('does nothing to a submission whose run is over', async () => {
    await using server = await service({})
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.ledger.db.updateTable('run').set({ state: 'failed' }).execute()
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('planned')
    expect(server.seen).toEqual([])
  })

  it('taken many times at once sends once', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await Promise.all(Array.from({ length: 5 }, () => lookAtSubmission(deps, id)))
    expect(server.count(post)).toBe(1)
    expect((await ferry.submission(id)).state).toBe('accepted')
  })

  it('sends what the row holds by now, keeps the payload, and records the hash of what it sent', async () => {
    await using server = await service({ [post]: [json({ correlationId: ours })] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    const body = server.seen[0]?.body ?? ''
    expect(JSON.parse(body)).toMatchObject({ companies: [{ id: 'H-1', name: 'Zur Brücke' }] })
    const sent = await ferry.ledger.db.selectFrom('submission_row').select('sent_hash').executeTakeFirstOrThrow()
    expect(sent.sent_hash).toEqual((await ferry.ledger.row('properties', 'H-1')).desired_hash)
    expect((await ferry.submission(id)).payload_bytes).toBe(Buffer.byteLength(body))
  })
})
