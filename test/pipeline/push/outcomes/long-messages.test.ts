import { randomUUID } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { httpServer, sendJson } from '../../../exchange/fault-server.ts'
import { testClient } from '../../../exchange/test-client.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { some } from '../../../helpers/some.ts'
import { openFerry } from '../ferry.ts'
import { json, service } from '../service.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const dataPointId = '00000000-0000-4000-8000-000000000006'
const answer = { period_type: 'Yearly', year: '2025', month: '1', data_point_id: dataPointId, value: 'x' }
const messages = Array.from(
  { length: 100 },
  () => `The company could not be stored: its record ${randomUUID()} is locked.`,
)
const strangers = messages.map((message) => ({
  identifiedByValue: 'H-99',
  reason: 'Locked',
  message: message.repeat(10),
}))

it.each<[string, number, string, object]>([
  ['PartialSuccess', 3, 'framework_answers', { generalErrorMessages: messages }],
  ['Cancelled', 3, 'framework_answers', { generalErrorMessages: messages }],
  ['Error', 3, 'framework_answers', { generalErrorMessages: messages }],
  ['Error', 1, 'framework_answers', { generalErrorMessages: messages }],
  ['Error', 3, 'framework_answers', { rowErrors: strangers }],
  ['Cancelled', 3, 'properties', { generalErrorMessages: messages }],
])(
  'a task that ends as %s with very long messages leaves no more than 2,000 characters of them with each of %i rows of %s',
  async (status, count, stream, error) => {
    await using server = await service({
      '/api/v2/bulk/framework-answers/upsert': [json({ correlationId })],
      '/api/v1/bulk/company-mappings': [json({ correlationId })],
      [`/api/v2/bulk/tasks/${correlationId}`]: [json({ correlationId, status, error })],
    })
    await using deps = ferry.deps(server.url)
    const content = stream === 'properties' ? { name: 'A' } : { ...answer, value_type: 'text' }
    const rows = Array.from({ length: count }, (_, at) => ({ partner_id: `H-${at}`, content }))
    const id = await ferry.planned(deps, stream, rows)
    await lookAtSubmission(deps, id)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('settled')
    const told = await ferry.ledger.db.selectFrom('ledger').select(['outcome_reason']).execute()
    expect(told).toHaveLength(count)
    for (const { outcome_reason } of some(told)) {
      expect(outcome_reason).toMatch(/^The company could not be stored/)
      expect(outcome_reason?.length).toBeLessThan(2_050)
    }
    expect(JSON.stringify((await ferry.submission(id)).task)).toContain(messages.at(-1))
  },
)

const million = 1_000_000
const long = 'y'.repeat(million)
const cut = new RegExp(`^Locked: y+… \\(shortened: ${million + 8} characters, MD5 [0-9a-f]{32}\\)$`)

it('an error row with a million characters leaves 10,000 of them with its row, and all of them in the task', async () => {
  const named = { identifiedByValue: 'H-0', dataPointId, reason: `Locked: ${long}`, message: `Locked: ${long}` }
  const error = { rowErrors: [named, { ...named, identifiedByValue: 'H-99' }] }
  await using server = await service({
    '/api/v2/bulk/framework-answers/upsert': [json({ correlationId })],
    [`/api/v2/bulk/tasks/${correlationId}`]: [json({ correlationId, status: 'PartialSuccess', error })],
  })
  await using made = ferry.deps(server.url)
  await using client = testClient(server.url, { maxAnswerBytes: 10 * million })
  const deps = { ...made, exchange: client }
  const rows = ['H-0', 'H-1'].map((partner_id) => ({ partner_id, content: { ...answer, value_type: 'text' } }))
  const id = await ferry.planned(deps, 'framework_answers', rows)
  await lookAtSubmission(deps, id)
  await lookAtSubmission(deps, id)
  const { task, unmatched, unmatched_count } = await ferry.submission(id)
  const row = await ferry.ledger.row('framework_answers', 'H-0')
  expect(row).toMatchObject({ outcome: 'rejected', outcome_reason: expect.stringMatching(cut) })
  expect(row.outcome_reason?.length).toBeLessThan(10_100)
  expect(row.outcome_code?.length).toBe(200)
  const kept = await ferry.ledger.db
    .selectFrom('submission_row')
    .select('reason')
    .where('outcome', '=', 'rejected')
    .execute()
  expect(kept).toEqual([{ reason: row.outcome_reason }])
  expect({ unmatched_count, unmatched }).toMatchObject({ unmatched_count: 1, unmatched: [{ partner_id: 'H-99' }] })
  expect(JSON.stringify(unmatched).length).toBeLessThan(3_000)
  expect(JSON.stringify(task).length).toBeGreaterThan(4 * million)
})

it('a result file with a million characters about a hotel, or about nobody, leaves the beginning of them', async () => {
  const companies = [
    { id: 'H-0', status: 'NotFound', reason: `Locked: ${long}` },
    { id: 'H-99', status: `NotFound ${long}`, reason: `Locked: ${long}` },
  ]
  await using server = await httpServer((request, response) => {
    if (request.method === 'POST') return sendJson(response, { correlationId })
    if (request.path === '/file') return sendJson(response, { companies })
    return sendJson(response, {
      correlationId,
      status: 'Success',
      file: { url: `http://${request.headers.host}/file` },
    })
  })
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [{ partner_id: 'H-0', content: { name: 'A' } }])
  await lookAtSubmission(deps, id)
  await lookAtSubmission(deps, id)
  const row = await ferry.ledger.row('properties', 'H-0')
  expect(row).toMatchObject({ outcome: 'rejected', outcome_reason: expect.stringMatching(cut) })
  expect(row.outcome_reason?.length).toBeLessThan(10_100)
  const { unmatched } = await ferry.submission(id)
  expect(JSON.stringify(unmatched).length).toBeLessThan(3_000)
})

it('a status of half a million characters is noted by its first 200, and the task counts as under way', async () => {
  await using server = await service({
    '/api/v1/bulk/company-mappings': [json({ correlationId })],
    [`/api/v2/bulk/tasks/${correlationId}`]: [json({ correlationId, status: 'z'.repeat(500_000) })],
  })
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [{ partner_id: 'H-0', content: { name: 'A' } }])
  await lookAtSubmission(deps, id)
  await lookAtSubmission(deps, id)
  expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', task_status: 'z'.repeat(200) })
})
