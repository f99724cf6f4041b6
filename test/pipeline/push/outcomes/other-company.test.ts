import { beforeEach, expect, it } from 'vitest'
import { streamNames } from '../../../../src/config/known-names.ts'
import { releaseResends } from '../../../../src/db/ledger/rows-again.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../ferry.ts'
import { ids } from '../rows.ts'
import { json, service } from '../service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const moved = '0b6c2f4e-0000-4000-8000-0000000000c9'
const post = '/api/v1/bulk/calculators/upsert'
const task = `/api/v2/bulk/tasks/${correlationId}`
const partners = ['H-1', 'H-2']

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

async function mapped(): Promise<void> {
  const run_id = await ferry.ledger.startRun()
  const rows = partners.map((partner_id) => ({ partner_id, content: { name: partner_id } }))
  await ferry.ledger.landChecked('properties', rows, true)
  const { submission_id } = await ferry.ledger.db
    .insertInto('submission')
    .values({ run_id, kind: 'company_mappings', state: 'settled', row_count: 2 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const mappings = partners.map((partner_id, at) => ({ partner_id, company_id: companies[at] ?? '', submission_id }))
  await ferry.ledger.db.insertInto('mapping').values(mappings).execute()
}
const companies = [ids.company, '0b6c2f4e-0000-4000-8000-0000000000c2']

it('a hotel whose calculators went to another company than its mapping is mapped again by the next run', async () => {
  await using server = await service({
    [post]: [json({ correlationId })],
    [task]: [(response) => json({ correlationId, status: 'Success', file: { url: `${server.url}/file` } })(response)],
    '/file': [
      json({
        companies: [
          { identifier: 'H-1', companyId: moved, status: 'Success' },
          { identifier: 'H-2', companyId: companies[1], status: 'Success' },
        ],
      }),
    ],
  })
  await using given = ferry.deps(server.url)
  const streams = { ...given.config.streams, calculator_inputs: given.config.streams.properties }
  const deps: Deps = { ...given, config: { ...given.config, streams } }
  await mapped()
  const inputs = partners.map((partner_id) => ({
    partner_id,
    row_key: `inputs of ${partner_id}`,
    content: { year: '2025', inputs: { [ids.field]: '1' } },
  }))
  const id = await ferry.planned(deps, 'calculator_inputs', inputs)
  for (let look = 0; look < 2; look++) await lookAtSubmission(deps, id)

  const outcomes = inputs.map(({ row_key }) => ferry.ledger.row('calculator_inputs', row_key))
  expect(await Promise.all(outcomes)).toMatchObject([
    { outcome: 'unknown', outcome_code: 'result_other_company', accepted_hash: null },
    { outcome: 'confirmed', outcome_code: null },
  ])
  const isPending = async () =>
    (await Promise.all(partners.map((id) => ferry.ledger.row('properties', id)))).map(({ pending }) => pending)
  expect(await isPending(), 'the run at hand has counted its rows').toEqual([false, false])
  expect(await releaseResends(ferry.ledger.db, {}, streamNames)).toBe(1)
  expect(await isPending()).toEqual([true, false])
})

const upsert = '/api/v2/bulk/framework-answers/upsert'

it.each([
  ['one that nothing was sent to', moved, ['unknown', 'inferred']],
  ['that of another hotel of the request', companies[1], ['unknown', 'unknown']],
])(
  'a hotel whose failed answer went to another company, %s, is mapped again, and keeps no other hotel back',
  async (_, companyId, wanted) => {
    const error = { companyId, identifiedByValue: 'H-1', dataPointId: ids.number, reason: 'out_of_range' }
    await using server = await service({
      [upsert]: [json({ correlationId })],
      [task]: [json({ correlationId, status: 'PartialSuccess', error: { rowErrors: [error] } })],
    })
    await using deps = ferry.deps(server.url)
    await mapped()
    const answers = partners.map((partner_id) => ({
      partner_id,
      row_key: `answer of ${partner_id}`,
      content: {
        period_type: 'Monthly',
        year: '2025',
        month: '1',
        data_point_id: ids.number,
        value: '1',
        value_type: 'number',
      },
    }))
    const id = await ferry.planned(deps, 'framework_answers', answers)
    for (let look = 0; look < 2; look++) await lookAtSubmission(deps, id)

    const outcomes = await Promise.all(answers.map(({ row_key }) => ferry.ledger.row('framework_answers', row_key)))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(wanted)
    expect(outcomes[0]).toMatchObject({ outcome_code: 'result_other_company', accepted_hash: null, refused_hash: null })
    expect((await ferry.submission(id)).unmatched).toMatchObject([{ partner_id: 'H-1', company_id: companyId }])
    expect(await releaseResends(ferry.ledger.db, {}, streamNames)).toBe(1)
    expect((await ferry.ledger.row('properties', 'H-1')).pending).toBe(true)
  },
)
