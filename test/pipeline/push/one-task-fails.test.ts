import { beforeEach, describe, expect, it } from 'vitest'
import { submissionReports } from '../../../src/db/runs/report-rows.ts'
import { adoptUnfinished } from '../../../src/db/runs/run-life.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { overdueRemarks } from '../../../src/pipeline/report/report-words.ts'
import { searchKinds } from '../../../src/pipeline/streams/kind-names.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { type Answer, json, refusal, reset, service } from './service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const foreign = '0b6c2f4e-0000-4000-8000-00000000000f'
const post = '/api/v1/bulk/company-mappings'
const list = '/api/v2/bulk/tasks'
const path = `${list}/${correlationId}`
const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }
const listed = { correlationId: foreign, status: 'InProgress', taskKind: 'CompanyMappingRequest', requestType: null }
const whole = json({ companies: [] })

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

async function lookTwice(deps: Deps, id: number): Promise<void> {
  await lookAtSubmission(deps, id)
  ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
  await lookAtSubmission(deps, id)
}
async function nextRun(): Promise<void> {
  const run = await ferry.ledger.startRun()
  await ferry.ledger.inTransaction((trx) => adoptUnfinished(trx, run, searchKinds))
}
async function sent(deps: Deps): Promise<number> {
  const id = await ferry.planned(deps, 'properties', [property])
  await lookAtSubmission(deps, id)
  return id
}

describe('a single task that cannot be asked about', () => {
  it.each<[string, Answer, string]>([
    ['400', refusal(400), 'exchange_refused'],
    ['403', refusal(403), 'exchange_forbidden'],
    ['500', refusal(500), 'exchange_failed'],
    ['HTML', (response) => response.end('<html>'), 'exchange_answer_malformed'],
  ])(
    'a single task that is answered with %s while the service answers others is not waited for, and ends no run',
    async (_, answer, code) => {
      await using server = await service({
        [post]: [json({ correlationId })],
        [path]: [answer],
        [list]: [json([])],
      })
      await using deps = ferry.deps(server.url)
      const id = await sent(deps)
      await lookTwice(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', error_code: code })
      expect((await ferry.submission(id)).overdue_since).not.toBeNull()
      expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ held_by: id, outcome: null })
      expect(await ferry.wave(deps), 'the run goes on').toBe(false)
      expect(overdueRemarks(await submissionReports(ferry.ledger.db, (await ferry.submission(id)).run_id))).toEqual([
        expect.stringMatching(/nobody can say whether its task .*0001 has ended \(GET/),
      ])

      await nextRun()
      await lookTwice(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', error_code: code })
      expect(await ferry.wave(deps)).toBe(false)
    },
  )

  it.each([
    ['denied first', [404, 403]],
    ['denied twice in a row', [403, 404, 404]],
  ])(
    'a single task that is denied and cannot be asked about by turns is not waited for either: %s',
    async (_, turns) => {
      const answers = Array.from({ length: 50 }, () => turns.map((status) => refusal(status))).flat()
      await using server = await service({ [post]: [json({ correlationId })], [path]: answers, [list]: [json([])] })
      await using deps = ferry.deps(server.url)
      const { giveUpAfterMs, pollIntervalMs } = deps.config.exchange
      const id = await sent(deps)
      for (let passed = 0; passed < giveUpAfterMs; passed += pollIntervalMs) {
        await lookAtSubmission(deps, id)
        expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', overdue_since: null })
        ferry.clock.pass(pollIntervalMs)
      }
      for (const _ of [...turns, ...turns]) {
        await lookAtSubmission(deps, id)
        ferry.clock.pass(pollIntervalMs)
      }
      expect((await ferry.submission(id)).overdue_since).not.toBeNull()
      expect(await ferry.wave(deps), 'the run goes on').toBe(false)
    },
  )

  it('a single task whose result file is gone, and that is denied by turns, keeps no run waiting', async () => {
    const ended: Answer = (response) =>
      json({ correlationId, status: 'Success', file: { url: `${server.url}/gone` } })(response)
    const turns = Array.from({ length: 50 }, () => [ended, refusal(404)]).flat()
    await using server = await service({
      [post]: [json({ correlationId })],
      [path]: [ended, ...turns],
      [list]: [json([])],
      '/gone': [refusal(410)],
    })
    await using deps = ferry.deps(server.url)
    const { giveUpAfterMs, pollIntervalMs } = deps.config.exchange
    const id = await sent(deps)
    for (let passed = 0; passed < giveUpAfterMs; passed += pollIntervalMs) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('terminal')
      ferry.clock.pass(pollIntervalMs)
    }
    for (let look = 0; look < 3; look++) await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'settled', error_code: 'result_file_lost' })
  })

  it('a single task that can be asked about again, once the service answers others, is waited for', async () => {
    await using server = await service({
      [post]: [json({ correlationId })],
      [path]: [refusal(403), refusal(403), json({ correlationId, status: 'InProgress' })],
      [list]: [json([])],
    })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookTwice(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', overdue_since: null })
    expect(await ferry.wave(deps)).toBe(true)
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ task_status: 'InProgress', failing_since: null })
  })

  it('a single task that has ended, and can be asked about again, keeps its outcomes', async () => {
    const ended: Answer = (response) =>
      json({ correlationId, status: 'Success', file: { url: `${server.url}/gone` } })(response)
    await using server = await service({
      [post]: [json({ correlationId })],
      [path]: [ended, refusal(403), refusal(403), ended],
      [list]: [json([])],
      '/gone': [refusal(410)],
    })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    await lookTwice(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'terminal', overdue_since: null })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ held_by: id, outcome: null })
  })

  it('a single task that is overdue ends no run, though nothing of the service answers', async () => {
    await using server = await service({ [post]: [json({ correlationId })], [path]: [refusal(500)] })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await ferry.ledger.db.updateTable('submission').set({ overdue_since: ferry.clock.at }).execute()
    await lookTwice(deps, id)
    await ferry.asked()
    await lookAtSubmission(deps, id)
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(15_000, -3) }])
  })

  it('a single task that may be the one of a lost POST and cannot be asked about is not waited for', async () => {
    await using server = await service({
      [post]: [reset],
      [list]: [json([listed]), json([])],
      [`${list}/${foreign}`]: [refusal(500)],
    })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    await lookTwice(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', error_code: 'exchange_failed' })
    expect(await ferry.wave(deps)).toBe(false)
    await nextRun()
    await lookTwice(deps, id)
    expect((await ferry.submission(id)).state).toBe('uncertain')
  })

  it('a single task of which the list tells no more ends no run that does not wait for it', async () => {
    const others = Array.from({ length: 10 }, (_, at) => ({
      ...listed,
      correlationId: `other-${at}`,
      status: 'Success',
    }))
    const [first] = others
    await using server = await service({
      [post]: [reset],
      [list]: [
        json([...others, listed]),
        json(others.map((task) => ({ ...task, correlationId: `x${first?.status}` }))),
      ],
      [`${list}/${foreign}`]: [json(listed)],
    })
    await using deps = ferry.deps(server.url)
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    await ferry.ledger.db.updateTable('submission').set({ overdue_since: ferry.clock.at }).execute()
    await lookTwice(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', error_code: 'task_list_too_short' })
  })

  it.each([403, 500])(
    'a single task that has ended, and answers %i when it is asked for a fresh address, leaves its rows unknown',
    async (status) => {
      await using server = await service({
        [post]: [json({ correlationId })],
        [path]: [
          (response) => json({ correlationId, status: 'Success', file: { url: `${server.url}/gone` } })(response),
          refusal(status),
        ],
        [list]: [json([])],
        '/gone': [refusal(410), whole],
      })
      await using deps = ferry.deps(server.url)
      const id = await sent(deps)
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('terminal')
      await lookTwice(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'settled', error_code: 'result_file_lost' })
      expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({
        held_by: null,
        outcome: 'unknown',
        outcome_code: 'result_file_lost',
      })
    },
  )
})
