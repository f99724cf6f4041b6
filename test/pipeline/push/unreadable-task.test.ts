import { beforeEach, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { ids } from './rows.ts'
import { json, service } from './service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v2/bulk/framework-answers/upsert'
const list = '/api/v2/bulk/tasks'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const rows = ['1', '2'].map((month) => ({
  partner_id: `H-${month}`,
  row_key: month,
  content: { period_type: 'Monthly', year: '2025', month, data_point_id: ids.number, value: '1', value_type: 'number' },
}))
// The client of the tests reads a million bytes.
const huge = (status: string) =>
  json({ correlationId, status, error: { rowErrors: [{ identifiedByValue: 'H-1', message: 'x'.repeat(1_100_000) }] } })

/** Short enough to be read, and so many errors that they would not fit into memory. */
const many = (status: string) => json({ correlationId, status, error: { rowErrors: new Array(250_001).fill({}) } })

async function sent(status: string, listed: object[], count = 2, answer = huge) {
  const server = await service({
    [post]: [json({ correlationId })],
    [`${list}/${correlationId}`]: [answer(status)],
    [list]: [json(listed)],
  })
  const deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'framework_answers', rows.slice(0, count))
  await lookAtSubmission(deps, id)
  await lookAtSubmission(deps, id)
  return {
    id,
    deps,
    [Symbol.asyncDispose]: async () => {
      await deps[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

it.each([
  ['Success', 'is too long', huge],
  ['PartialSuccess', 'is too long', huge],
  ['Error', 'is too long', huge],
  ['Error', 'names too many errors', many],
])('a task that ended as %s and whose answer %s is sent again in halves', async (status, _, answer) => {
  await using world = await sent(status, [{ correlationId, status }], 2, answer)
  expect(await ferry.submission(world.id)).toMatchObject({
    state: 'terminal',
    error_code: 'task_too_large',
    task_status: status,
  })
  await lookAtSubmission(world.deps, world.id)
  expect((await ferry.submission(world.id)).state).toBe('settled')
  const halves = await ferry.ledger.db.selectFrom('submission').selectAll().where('parent_id', '=', world.id).execute()
  expect(halves.map(({ row_count }) => row_count)).toEqual([1, 1])
})

it('a task whose answer is too long is found in a list that spells its id in capitals', async () => {
  await using world = await sent('Success', [{ correlationId: correlationId.toUpperCase(), status: 'Success' }])
  expect(await ferry.submission(world.id)).toMatchObject({ state: 'terminal', error_code: 'task_too_large' })
})

it('a single row whose task has an answer that is too long is unknown, and says which setting bounds it', async () => {
  await using world = await sent('PartialSuccess', [{ correlationId, status: 'PartialSuccess' }], 1)
  await lookAtSubmission(world.deps, world.id)
  expect(await ferry.ledger.row('framework_answers', '1')).toMatchObject({
    outcome: 'unknown',
    outcome_code: 'task_too_large',
    outcome_reason: expect.stringContaining('1000000 bytes (exchange.maxAnswerBytes)'),
    refused_hash: null,
  })
})

it.each<[string, object[]]>([
  ['is not listed', []],
  ['is listed as running', [{ correlationId, status: 'InProgress' }]],
])('a task whose answer is too long is not given up while it %s', async (_, listed) => {
  await using world = await sent('PartialSuccess', listed)
  expect(await ferry.submission(world.id)).toMatchObject({ state: 'accepted', error_code: 'exchange_answer_malformed' })
  expect((await ferry.ledger.row('framework_answers', '1')).held_by).toBe(world.id)
})

it('a search whose answer is too long is not taken for one that found nothing', async () => {
  await using server = await service({
    '/api/v2/bulk/calculators/search': [json({ correlationId })],
    [`${list}/${correlationId}`]: [huge('Success')],
    [list]: [json([{ correlationId, status: 'Success' }])],
  })
  await using deps = ferry.deps(server.url)
  const run_id = await ferry.ledger.startRun()
  const { submission_id } = await ferry.ledger.db
    .insertInto('submission')
    .values({ run_id, kind: 'calculators_search', state: 'planned', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  for (let look = 0; look < 3; look++) await lookAtSubmission(deps, submission_id)
  expect(await ferry.submission(submission_id)).toMatchObject({
    state: 'accepted',
    error_code: 'exchange_answer_malformed',
  })
})
