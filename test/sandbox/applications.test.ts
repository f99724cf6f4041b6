import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataPointsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt, isKnownToService } from '../../src/sandbox/hotels.ts'
import { some } from '../helpers/some.ts'
import type { ErrorBody } from './documents.ts'
import { type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

type Application = { id: string; status: string; standardId: string; companyId: string; createdAt: string }
type Answers = { answers: { dataPointId: string; answer: unknown }[] }
type Event = { type: string; data: { applicationId: string; status: string | null; profileId: number } }

const path = '/api/v1/applications'
const key = 'certifier-key'
const statuses = ['ApplicationInPreparation', 'AwaitingApplicationReview', 'ApplicationApproved', 'ApplicationRejected']
const points = catalogue.frameworks.flatMap(dataPointsOf)
const pointOf = (valueType: string) => {
  const found = points.find((point) => point.valueType === valueType)
  if (!found) throw new Error(`no data point of type ${valueType}`)
  return found
}

let sandbox: OpenSandbox
beforeAll(async () => {
  sandbox = await openSandbox({ allowInsecureWebhooks: true })
  const url = 'http://127.0.0.1:9/unreachable'
  const topics = ['application.status_changed', 'application.answers_changed']
  for (const owner of [key, 'demo-key']) {
    const answer = await sandbox.call('POST', '/sandbox/webhooks', { key: owner, body: { url, topics } })
    expect(answer.status).toBe(201)
  }
})
afterAll(() => sandbox.close())

async function applications(owner = key): Promise<Application[]> {
  const answer = await sandbox.call<Application[]>('GET', path, { key: owner })
  expect(answer.status).toBe(200)
  return answer.body
}

async function nth(index: number): Promise<Application> {
  const found = (await applications())[index]
  if (!found) throw new Error(`there is no application ${index}`)
  return found
}

const put = <T = Application & Answers & ErrorBody>(path: string, body: unknown, owner = key) =>
  sandbox.call<T>('PUT', path, { key: owner, body })

/** The events about an application that were recorded for webhooks, in their order. */
async function eventsOf({ id }: Application): Promise<[type: string, status: string | null][]> {
  const { rows } = await sandbox.pool.query<{ body: Buffer; profile_id: number }>(
    `select body, profile_id from sandbox.webhook_delivery delivery join sandbox.webhook on webhook.id = webhook_id
     where about = $1 order by delivery.sequence`,
    [id],
  )
  return rows.map(({ body, profile_id }) => {
    const event = JSON.parse(body.toString('utf8')) as Event
    expect([profile_id, event.data.profileId, event.data.applicationId]).toEqual([4713, 4713, id])
    return [event.type, event.data.status]
  })
}

it('lists the applications that the profile owns, of every status and standard, and none to another profile', async () => {
  const found = await applications()
  const companies = Array.from({ length: 60 }, (_, index) => index + 1).filter(isKnownToService)
  expect(found.map(({ companyId }) => companyId)).toEqual(companies.slice(0, 20).map((nr) => companyIdAt(seed, nr)))
  expect(new Set(found.map(({ status }) => status))).toEqual(new Set(statuses))
  expect(new Set(found.map(({ standardId }) => standardId))).toEqual(new Set(catalogue.standards.map(({ id }) => id)))
  expect(await applications('demo-key')).toEqual([])
})

it('the sandbox shows one application, and denies it to every profile but its owner', async () => {
  const first = await nth(0)
  expect(await sandbox.call('GET', `${path}/${first.id.toUpperCase()}`, { key })).toEqual({ status: 200, body: first })
  const refused = { status: 404, body: { errorCode: 'application_not_found', message: expect.any(String) } }
  for (const [id, owner] of [
    [first.id, 'demo-key'],
    [first.id, 'other-key'],
    [catalogue.groupId, key],
    ['x', key],
  ]) {
    const at = `${path}/${id}`
    const as = owner ?? key
    expect(await sandbox.call('GET', at, { key: as })).toEqual(refused)
    expect(await sandbox.call('GET', `${at}/answers`, { key: as })).toEqual(refused)
    expect(await put(`${at}/status`, { status: statuses[0] }, as)).toEqual(refused)
    expect(await put(`${at}/answers`, { answers: [] }, as)).toEqual(refused)
  }
})

describe('a status', () => {
  it('can be set to each of the four names, with an event for every change and none without one', async () => {
    const application = await nth(1)
    expect(application.status).toBe(statuses[1])
    const at = `${path}/${application.id}/status`
    for (const status of ['ApplicationApproved', 'ApplicationApproved', ...statuses]) {
      expect(await put(at, { status })).toEqual({ status: 200, body: { ...application, status } })
      expect((await nth(1)).status).toBe(status)
    }
    const reached = ['ApplicationApproved', ...statuses]
    expect(await eventsOf(application)).toEqual(reached.map((status) => ['application.status_changed', status]))
  })

  it('cannot be set to any other name', async () => {
    const application = await nth(2)
    const at = `${path}/${application.id}/status`
    for (const status of ['Approved', 'approved', '', 'applicationapproved', 'toString']) {
      const answer = await put(at, { status })
      expect([answer.status, answer.body.errorCode]).toEqual([400, 'application_status_unknown'])
    }
    expect((await put(at, {})).status).toBe(400)
    expect((await put(at, { status: 3 })).status).toBe(400)
    expect(await nth(2)).toEqual(application)
    expect(await eventsOf(application)).toEqual([])
  })
})

it('the sandbox moves once when ten requests set the same status at once', async () => {
  const application = await nth(9)
  const at = `${path}/${application.id}/status`
  const status = statuses.find((name) => name !== application.status)
  const answers = await Promise.all(Array.from({ length: 10 }, () => put(at, { status })))
  expect(answers.map((answer) => [answer.status, answer.body.status])).toEqual(Array(10).fill([200, status]))
  expect(await eventsOf(application)).toEqual([['application.status_changed', status]])
})

describe('answers', () => {
  const answersOf = async ({ id }: Application) =>
    (await sandbox.call<Answers>('GET', `${path}/${id}/answers`, { key })).body.answers
  const number = pointOf('number')
  const range = pointOf('dateRange')
  const sent = [
    { dataPointId: number.id, answer: { number: 12.5 } },
    { dataPointId: range.id, answer: { dateRangeFromDateIso: '2025-01-01', dateRangeToDateIso: '2025-12-31' } },
  ]

  it('answers are there from the start, each fit for its data point', async () => {
    const answers = await answersOf(await nth(3))
    const kinds = answers.map(({ answer }) => Object.keys(answer as object).join()).toSorted()
    expect(kinds).toEqual(['boolean', 'list', 'number', 'text'])
  })

  it('replace those to the same data points and leave the others, with an event only when they differ', async () => {
    const application = await nth(3)
    const at = `${path}/${application.id}/answers`
    const others = (await answersOf(application)).filter(({ dataPointId }) =>
      sent.every((answer) => answer.dataPointId !== dataPointId),
    )
    const written = await put(at, { answers: sent })
    expect(written.status).toBe(200)
    expect(written.body.answers).toHaveLength(others.length + 2)
    expect(written.body.answers).toEqual(expect.arrayContaining([...others, ...sent]))
    expect(await answersOf(application)).toEqual(written.body.answers)
    expect(await eventsOf(application)).toEqual([['application.answers_changed', null]])
    // What still waits would take the next changes in.
    await sandbox.pool.query('delete from sandbox.webhook_delivery where about = $1', [application.id])
    expect((await put(at, { answers: sent.toReversed() })).status).toBe(200)
    expect((await put(at, { answers: [] })).status).toBe(200)
    expect(await eventsOf(application)).toEqual([])
    expect((await put(at, { answers: [{ ...sent[0], answer: { number: 13 } }] })).status).toBe(200)
    expect(await eventsOf(application)).toHaveLength(1)
  })

  it('answers are written all together or not at all', async () => {
    const application = await nth(4)
    const before = await answersOf(application)
    const wrong: [unknown, string][] = [
      [{ dataPointId: catalogue.groupId, answer: { number: 1 } }, 'data_point_not_found'],
      [{ dataPointId: number.id, answer: { text: '1' } }, 'value_type_mismatch'],
      [{ dataPointId: number.id, answer: { number: 1e15 } }, 'value_out_of_range'],
      [{ dataPointId: pointOf('list').id, answer: { list: ['x'] } }, 'option_not_found'],
    ]
    for (const [answer, code] of some(wrong)) {
      const refused = await put(`${path}/${application.id}/answers`, { answers: [sent[0], answer] })
      expect([refused.status, refused.body.errorCode]).toEqual([400, code])
    }
    expect(await answersOf(application)).toEqual(before)
    expect(await eventsOf(application)).toEqual([])
  })

  it('the later of two answers in one request is kept', async () => {
    const application = await nth(5)
    const twice = [sent[0], { ...sent[0], answer: { number: 7 } }]
    const { body } = await put(`${path}/${application.id}/answers`, { answers: twice })
    expect(body.answers.find(({ dataPointId }) => dataPointId === number.id)?.answer).toEqual({ number: 7 })
  })
})

describe('a change that does not come through the API', () => {
  it('a change that does not come through the API is an event for the owner too, made by the owner or by a profile that has the company', async () => {
    const application = await nth(6)
    const at = `/sandbox/applications/${application.id}`
    const answers = [{ dataPointId: pointOf('number').id, answer: { number: 3 } }]
    expect((await put(`${at}/status`, { status: statuses[0] })).status).toBe(200)
    expect((await put(`${at}/answers`, { answers }, 'demo-key')).body).toEqual({ applicationId: application.id })
    expect((await nth(6)).status).toBe(statuses[0])
    expect(await eventsOf(application)).toEqual([
      ['application.status_changed', statuses[0]],
      ['application.answers_changed', null],
    ])
    expect((await put(`${at}/status`, { status: statuses[0] }, 'demo-key')).status).toBe(200)
    expect(await eventsOf(application)).toHaveLength(2)
  })

  it('a change that does not come through the API is refused to a profile that neither owns the application nor has the company', async () => {
    const { id } = await nth(7)
    const refused = await put(`/sandbox/applications/${id}/status`, { status: statuses[0] }, 'other-key')
    expect([refused.status, refused.body.errorCode]).toEqual([404, 'application_not_found'])
    const unknown = await put(`/sandbox/applications/${id}/status`, { status: 'x' })
    expect([unknown.status, unknown.body.errorCode]).toEqual([400, 'application_status_unknown'])
  })
})

it('the sandbox keeps statuses and answers when the sandbox starts again, with more companies', async () => {
  const application = await nth(8)
  await put(`${path}/${application.id}/status`, { status: 'ApplicationApproved' })
  const before = await applications()
  await sandbox.stop()
  await sandbox.start({ companies: 70 })
  expect(await applications()).toEqual(before)
})
