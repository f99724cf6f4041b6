import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeWebhookEvent } from '../../src/exchange/webhook-signature.ts'
import { contract } from './test-client.ts'

const { webhookTopics: topics } = contract
const id = 'b0000000-0000-4000-8000-000000000001'
const read = (envelope: object) => decodeWebhookEvent(contract, id, JSON.stringify({ id, ...envelope }))

describe('an event', () => {
  it.each([
    [topics.success, true],
    [topics.partialSuccess, true],
    [topics.error, true],
    [topics.cancelled, true],
    [topics.pending, false],
    [topics.scheduled, false],
    [topics.inProgress, false],
  ])('%s tells of an end: %s', (type, ends) => {
    expect(read({ type, data: { correlationId: 'c' } })).toMatchObject({ what: 'bulk', correlationId: 'c', ends })
  })

  it('an event is read with its fields, and those that are new are ignored', () => {
    const data = {
      correlationId: 'c',
      status: 'Success',
      profileId: 4711,
      apiKeyId: 'k',
      requestType: null,
      later: [1],
    }
    expect(read({ type: topics.success, timestamp: '2026-11-21T02:00:00.123Z', data, later: {} })).toEqual({
      what: 'bulk',
      topic: topics.success,
      recordedAt: new Date('2026-11-21T02:00:00.123Z'),
      correlationId: 'c',
      ends: true,
      status: 'Success',
      profileId: 4711,
      apiKeyId: 'k',
    })
  })

  it('an event of answers has no status, whatever it says', () => {
    const data = { applicationId: 'a', status: 'x', profileId: 1 }
    expect(read({ type: topics.applicationAnswersChanged, data })).toMatchObject({ applicationId: 'a', status: null })
    expect(read({ type: topics.applicationStatusChanged, data })).toMatchObject({ applicationId: 'a', status: 'x' })
  })

  it.each([200, 201])('an event is read with an id of 200 characters at most: %i', (length) => {
    const long = 'x'.repeat(length)
    const data = { correlationId: long, applicationId: long }
    const [bulk, application] = [topics.success, topics.applicationAnswersChanged].map((type) => read({ type, data }))
    expect(bulk).toMatchObject(length === 200 ? { correlationId: long } : { what: 'unreadable' })
    expect(application).toMatchObject(length === 200 ? { applicationId: long } : { what: 'unreadable' })
  })

  it('repeats the id of its header, in whichever case', () => {
    const body = (own: string) => JSON.stringify({ id: own, type: topics.test, data: {} })
    expect(decodeWebhookEvent(contract, id, body(id.toUpperCase()))).toMatchObject({ what: 'test' })
    expect(decodeWebhookEvent(contract, id, body('another'))).toEqual({ what: 'unreadable', topic: topics.test })
  })

  it('an event is never a reason to throw, whatever stands in it', () => {
    const anything = fc.record({
      id: fc.constantFrom(id, 1, null),
      type: fc.oneof(fc.constantFrom(...Object.values(topics)), fc.jsonValue()),
      timestamp: fc.oneof(fc.string(), fc.jsonValue()),
      data: fc.oneof(
        fc.record({ correlationId: fc.jsonValue(), applicationId: fc.jsonValue(), profileId: fc.jsonValue() }),
        fc.jsonValue(),
      ),
    })
    fc.assert(
      fc.property(
        fc.oneof(
          anything.map((one) => JSON.stringify(one)),
          fc.json(),
          fc.string(),
        ),
        (payload) => {
          expect(['bulk', 'application', 'test', 'unknown_topic', 'unreadable']).toContain(
            decodeWebhookEvent(contract, id, payload).what,
          )
        },
      ),
    )
  })
})
