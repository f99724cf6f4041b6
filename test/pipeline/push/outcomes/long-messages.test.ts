import { randomUUID } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
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
