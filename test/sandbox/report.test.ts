import { describe, expect, it, vi } from 'vitest'
import * as world from '../../src/sandbox/catalogue/calculator-types.ts'
import { dataPointsOf, questionsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { createSchema } from '../../src/sandbox/schema/create-schema.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { calculators, identifiedBy, inputsOf, mapHotels, mappings, partnerId } from './bodies.ts'
import type { PageCalculator, Task } from './documents.ts'
import { openSandbox, seed } from './open-sandbox.ts'

type Row = { outcome: string; identifier?: string; companyId?: string; publishedCalculatorIds?: string[] }
type Report = { correlationId: string; rows: Row[] }

const { customIdentifierId, brandPropertyId } = catalogue
const { electricity } = world
const point = catalogue.frameworks.flatMap(dataPointsOf).find(({ valueType }) => valueType === 'boolean')
const question = catalogue.frameworks.flatMap(questionsOf)[0]
const standard = catalogue.standards[0]

const sandbox = await ofThisFile(openSandbox())

async function reportOf(task: Pick<Task, 'correlationId'>): Promise<Report> {
  const answer = await sandbox.call<Report>('GET', `/sandbox/tasks/${task.correlationId}/report`)
  expect(answer).toMatchObject({ status: 200, body: { correlationId: task.correlationId } })
  return answer.body
}

const named = (number: number) => ({ identifier: partnerId(number), companyId: companyIdAt(seed, number) })

it('names each mapped and each unmatched property', async () => {
  const { rows } = await reportOf(await sandbox.run('companyMappings', mapHotels(1, 50, 2, 3)))
  expect(rows).toEqual([
    { outcome: 'accepted', ...named(1) },
    { outcome: 'failed', identifier: partnerId(50), reason: expect.stringContaining('No company matches') },
    { outcome: 'accepted', ...named(2) },
    { outcome: 'accepted', ...named(3) },
  ])
})

it('names every answer and omission that was sent, accepted ones included', async () => {
  const answer = { dataPointId: point?.id, answer: { boolean: true } }
  const task = await sandbox.run('frameworkAnswersUpsert', {
    companies: [
      {
        identifiedBy: identifiedBy(1),
        periods: [
          { periodType: 'Yearly', year: 2025, answers: [answer, { ...answer, answer: { boolean: 'yes' } }] },
          { periodType: 'Monthly', year: 2025, month: 'May', omissions: [{ questionId: question?.id }] },
        ],
      },
      { identifiedBy: { companyId: companyIdAt(seed, 2) }, periods: [{ periodType: 'Yearly', year: 1, answers: [] }] },
      { identifiedBy: identifiedBy(41), periods: [] },
    ],
  })
  const yearly = { periodType: 'Yearly', year: 2025 }
  expect((await reportOf(task)).rows).toEqual([
    { outcome: 'accepted', ...named(1), dataPointId: point?.id, ...yearly },
    {
      ...{ outcome: 'failed', ...named(1), dataPointId: point?.id, ...yearly },
      ...{ reason: 'value_type_mismatch', message: expect.any(String) },
    },
    { outcome: 'accepted', ...named(1), questionId: question?.id, periodType: 'Monthly', year: 2025, month: 'May' },
    {
      ...{ outcome: 'failed', companyId: companyIdAt(seed, 2), periodType: 'Yearly', year: 1 },
      ...{ reason: 'year_invalid', message: expect.any(String) },
    },
    { outcome: 'failed', identifier: partnerId(41), reason: 'company_not_found', message: expect.any(String) },
  ])
})

it('names every property value and every standard held', async () => {
  const values = await sandbox.run('companiesUpsert', {
    customIdentifierId,
    companies: [
      {
        identifier: partnerId(1),
        customProperties: [
          { propertyId: brandPropertyId, value: 'A' },
          { propertyId: customIdentifierId, value: 'A' },
        ],
      },
    ],
  })
  expect((await reportOf(values)).rows).toEqual([
    { outcome: 'accepted', ...named(1), propertyId: brandPropertyId },
    {
      ...{ outcome: 'failed', ...named(1), propertyId: customIdentifierId },
      ...{ reason: 'custom_property_is_identifier', message: expect.any(String) },
    },
  ])
  const holders = await sandbox.run('standardHoldersUpsert', {
    customIdentifierId,
    holders: [
      { identifier: partnerId(2), standardId: standard?.id, level: 'Gold' },
      { identifier: 'nobody', standardId: standard?.id },
    ],
  })
  expect((await reportOf(holders)).rows).toEqual([
    { outcome: 'accepted', ...named(2), standardId: standard?.id },
    {
      ...{ outcome: 'failed', identifier: 'nobody', standardId: standard?.id },
      ...{ reason: 'company_not_found', message: expect.any(String) },
    },
  ])
})

it('names every company of a calculator upsert, with the errors of those that failed', async () => {
  const period = { year: 2025, month: 'May' }
  const task = await sandbox.run(
    'calculatorsUpsert',
    calculators([
      inputsOf(partnerId(1), period, { [electricity.id]: '5' }),
      inputsOf(partnerId(2), period, { [electricity.id]: 'five' }),
      inputsOf('nobody', period, { [electricity.id]: '5' }),
    ]),
  )
  expect((await reportOf(task)).rows).toEqual([
    { outcome: 'accepted', ...named(1) },
    { outcome: 'failed', ...named(2), errors: [{ fieldTypeId: electricity.id, reason: 'value_not_numeric' }] },
    { outcome: 'failed', identifier: 'nobody', errors: [{ reason: 'company_not_found' }] },
  ])
})

describe('automatic publishing', () => {
  const period = (month: string) => ({ year: 2024, month })
  const on = { automaticPublishing: true }
  const sent = (number: number, month: string, value: string, settings = {}) =>
    inputsOf(partnerId(number), period(month), { [electricity.id]: value }, settings)
  const publishedBy = async (...companies: unknown[]) => {
    const task = await sandbox.run('calculatorsUpsert', calculators(companies))
    expect(task.status).toBe('Success')
    return (await reportOf(task)).rows.map(({ publishedCalculatorIds }) => publishedCalculatorIds)
  }
  const calculatorsOf = async (number: number): Promise<PageCalculator[]> => {
    const pages = await sandbox.pages(await sandbox.run('calculatorsSearch', {}))
    const found = pages.flatMap((page) => page.companies).find(({ id }) => id === companyIdAt(seed, number))
    return found?.calculators ?? []
  }
  const idOf = async (number: number, month: string) =>
    (await calculatorsOf(number)).find((one) => one.period.year === 2024 && one.period.month === month)?.id

  it('publishes nothing until it is on, and then what was computed before, once', async () => {
    expect(await publishedBy(sent(1, 'January', '1'), sent(1, 'February', '2'))).toEqual([undefined, undefined])
    const [published] = await publishedBy({ identifier: partnerId(1), ...on })
    expect(published).toEqual((await calculatorsOf(1)).map(({ id }) => id).toSorted())
    expect(published).toHaveLength(3)
    expect(await publishedBy({ identifier: partnerId(1), ...on })).toEqual([undefined])
  })

  it('publishes results that changed, and no others', async () => {
    expect(await publishedBy(sent(1, 'February', '3'))).toEqual([[await idOf(1, 'February')]])
    expect(await publishedBy(sent(1, 'February', '3'))).toEqual([undefined])
  })

  it('publishes nothing while it is off, and then what changed meanwhile', async () => {
    expect(await publishedBy({ identifier: partnerId(1), automaticPublishing: false })).toEqual([undefined])
    expect(await publishedBy(sent(1, 'January', '7'))).toEqual([undefined])
    expect(await publishedBy({ identifier: partnerId(1), ...on })).toEqual([[await idOf(1, 'January')]])
  })

  it('withdraws results that there are no more, and publishes them again when they come back', async () => {
    expect(await publishedBy(sent(1, 'January', ''))).toEqual([undefined])
    expect(await publishedBy(sent(1, 'January', '7'))).toEqual([[await idOf(1, 'January')]])
  })

  it("leaves a report as it was when later requests publish the same company's results", async () => {
    const first = await sandbox.run('calculatorsUpsert', calculators([sent(2, 'May', '1', on)]))
    const before = await reportOf(first)
    expect(before.rows[0]?.publishedCalculatorIds).toEqual([await idOf(2, 'May')])
    expect(await publishedBy(sent(2, 'May', '2'))).toEqual([[await idOf(2, 'May')]])
    expect(await reportOf(first)).toEqual(before)
  })

  it('takes over what a world of an earlier version has published', async () => {
    const task = await sandbox.run(
      'calculatorsUpsert',
      calculators([sent(3, 'May', '1', on), sent(3, 'June', '2', on)]),
    )
    const before = await reportOf(task)
    await sandbox.pool.query(`
      create table sandbox.published_result (
        calculator_id uuid primary key references sandbox.calculator on delete cascade, outputs jsonb not null);
      create table sandbox.publication (task_id uuid not null references sandbox.task on delete cascade,
        company_id uuid not null, calculator_id uuid not null, primary key (task_id, company_id, calculator_id));
      insert into sandbox.published_result select id, outputs from sandbox.calculator where published is not null;
      insert into sandbox.publication select task_id, company_id, unnest(calculator_ids) from sandbox.published_by_task;
      delete from sandbox.published_by_task;
      alter table sandbox.calculator drop column published`)
    await createSchema(sandbox.pool)
    expect(before.rows[0]?.publishedCalculatorIds).toHaveLength(2)
    expect(await reportOf(task)).toEqual(before)
    expect(await publishedBy({ identifier: partnerId(3), ...on })).toEqual([undefined])
    expect(await publishedBy(sent(3, 'May', '2'))).toEqual([[await idOf(3, 'May')]])
  })
})

describe('a report is not to be had', () => {
  const statusOf = async (correlationId: string, key?: string) => {
    const path = `/sandbox/tasks/${correlationId}/report`
    const answer = await sandbox.call('GET', path, key === undefined ? {} : { key })
    return [answer.status, answer.body.errorCode]
  }

  it('a task of another profile, or one that does not exist, has no report', async () => {
    const { correlationId } = await sandbox.run('companyMappings', mapHotels(1))
    expect(await statusOf(correlationId, 'other-key')).toEqual([404, 'task_not_found'])
    expect(await statusOf(correlationId, 'sibling-key')).toEqual([200, undefined])
    expect(await statusOf(catalogue.groupId)).toEqual([404, 'task_not_found'])
    expect(await statusOf('x')).toEqual([404, 'task_not_found'])
  })

  it('a search has no report, as its outcomes are its pages', async () => {
    const { correlationId } = await sandbox.run('standardsSearch', {})
    expect(await statusOf(correlationId)).toEqual([404, 'report_not_found'])
  })

  it('a task that has not ended has no report', async () => {
    await sandbox.stop()
    await sandbox.start({ durations: { pendingMs: 600_000 } })
    const correlationId = await sandbox.submit('companyMappings', mapHotels(1))
    expect(await statusOf(correlationId)).toEqual([409, 'task_not_finished'])
    await sandbox.call('POST', `/api/v2/bulk/tasks/${correlationId}/cancel`)
    expect((await reportOf({ correlationId })).rows).toEqual([])
    await sandbox.stop()
    await sandbox.start()
  })
})

it('a report is whole for a request of 5,000 properties', async () => {
  const companies = Array.from({ length: 5000 }, (_, index) => ({ id: `P-${index}`, name: 'Nowhere' }))
  const { rows } = await reportOf(await sandbox.run('companyMappings', mappings(companies)))
  expect(rows.map(({ identifier }) => identifier)).toEqual(companies.map(({ id }) => id))
})

it('the sandbox tells every row once when the request was processed in two attempts', async () => {
  const blocker = await sandbox.pool.connect()
  await blocker.query('begin')
  await blocker.query('lock table sandbox.omission in access exclusive mode')
  const omission = { periodType: 'Yearly', year: 2020, omissions: [{ questionId: question?.id }] }
  const id = await sandbox.submit('frameworkAnswersUpsert', {
    companies: Array.from({ length: 600 }, () => ({ identifiedBy: identifiedBy(1), periods: [omission] })),
  })
  await vi.waitFor(async () => {
    const { rows } = await sandbox.pool.query<{ ended: boolean }>(
      `select pg_terminate_backend(pid) as ended from pg_locks join pg_database d on d.oid = database
       where datname = current_database() and relation = 'sandbox.omission'::regclass and not granted`,
    )
    if (rows.length === 0) throw new Error('the request has not come to its omissions yet')
  }, patience)
  await blocker.query('commit')
  blocker.release()
  const task = await sandbox.finished(id)
  expect(task.status).toBe('Success')
  const { rows } = await sandbox.pool.query('select attempts from sandbox.task where id = $1', [id])
  expect(rows).toEqual([{ attempts: 2 }])
  expect((await reportOf(task)).rows).toHaveLength(600)
})
