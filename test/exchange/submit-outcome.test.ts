import { describe, expect, it } from 'vitest'
import {
  AnswerFormatError,
  type Call,
  HttpError,
  TransportError,
  UncertainSubmission,
} from '../../src/exchange/errors.ts'
import { decodeSubmitted, judgePostAnswer, submissionFailure } from '../../src/exchange/submit-outcome.ts'
import { contract } from './test-client.ts'

const call: Call = { method: 'POST', url: 'https://service.example/company-mappings' }
const answer = (status: number, errorCode: string | null = null) =>
  new HttpError(call, { status, errorCode, serviceMessage: null, retryAfterMs: null })

const declined = [401, 421, 425, 429]
const refused = [
  400, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 416, 417, 422, 423, 424, 426, 428, 431, 451,
]
const moved = [307, 308]
/** Every status that neither HTTP nor the service has a clear word for. */
const others = Array.from({ length: 500 }, (_, at) => at + 100).filter(
  (status) => ![...declined, ...refused, ...moved].includes(status),
)

describe('an answer to a POST', () => {
  it.each(declined)('an answer of %i says that the request was not taken up, whatever word comes with it', (status) => {
    expect(judgePostAnswer({ status, errorCode: null })).toBe('declined')
    expect(judgePostAnswer({ status, errorCode: 'own' })).toBe('declined')
  })

  it.each([...refused, ...moved])('an answer of %i says that the request will not be taken', (status) => {
    if (status !== 404) expect(judgePostAnswer({ status, errorCode: null })).toBe('refused')
    expect(judgePostAnswer({ status, errorCode: 'own' })).toBe('refused')
  })

  it('an answer of 404 without a word of the service is that of a gateway, and the request may be sent again', () => {
    expect(judgePostAnswer({ status: 404, errorCode: null })).toBe('declined')
  })

  it('an answer of any other status may come from a proxy, and leaves open whether a task runs', () => {
    const verdicts = others.map((status) => judgePostAnswer({ status, errorCode: null }))
    expect(new Set(verdicts)).toEqual(new Set(['ambiguous']))
  })

  it('a client error with a word of the service refuses the request, but not where somebody gave up waiting', () => {
    const own = others.filter((status) => judgePostAnswer({ status, errorCode: 'own' }) === 'refused')
    const clientErrors = others.filter((status) => status >= 400 && status < 500)
    expect(own).toEqual(clientErrors.filter((status) => ![408, 460, 499].includes(status)))
  })
})

describe('the correlation id of an accepted request', () => {
  const named = (id: unknown) => decodeSubmitted(contract, { [contract.names.submitted.correlationId]: id })

  it.each(['a', '7f2c4b1e-0000-4000-8000-000000000000', '!~', '..a', 'x'.repeat(200)])('may be %s', (id) => {
    expect(named(id)).toEqual({ correlationId: id })
  })

  it.each(['', '.', '...', 'a b', 'a\n', 'ä', '\u007f', 'x'.repeat(201), null, {}, undefined])(
    'may not be %j, and the error names the field',
    (id) => {
      expect(() => named(id)).toThrow(AnswerFormatError)
      expect(() => named(id)).toThrow(`no usable ${contract.names.submitted.correlationId}`)
    },
  )

  it.each([null, 'text', 7, []])('the correlation id of an accepted request is not found in %j', (json) => {
    expect(() => decodeSubmitted(contract, json)).toThrow(AnswerFormatError)
  })
})

describe('a submission that failed', () => {
  it('may be sent again where nothing has arrived, and may be running where something has', () => {
    const nothing = new TransportError(call, 'refused', false, new Error('refused'))
    expect(submissionFailure(call, nothing)).toBe(nothing)
    expect(submissionFailure(call, new TransportError(call, 'reset', true, new Error('reset')))).toBeInstanceOf(
      UncertainSubmission,
    )
  })

  it.each([...refused, ...declined])('a submission that failed with %i is what the service said', (status) => {
    const error = answer(status)
    expect(submissionFailure(call, error)).toBe(error)
  })

  it.each([500, 502, 503, 504, 408])('a submission that failed with %i may be running', (status) => {
    const error = answer(status, 'own')
    const failure = submissionFailure(call, error)
    expect(failure).toBeInstanceOf(UncertainSubmission)
    expect(failure).toMatchObject({ cause: error })
  })

  it('a submission whose success cannot be read may be running', () => {
    expect(submissionFailure(call, new AnswerFormatError('no JSON'))).toBeInstanceOf(UncertainSubmission)
  })

  it('a submission that failed for a reason of our own keeps that reason', () => {
    const error = new Error('the database is gone')
    expect(submissionFailure(call, error)).toBe(error)
  })
})
