import { expect, it } from 'vitest'
import { HttpError } from '../../../../src/exchange/errors.ts'
import { decodeTask } from '../../../../src/exchange/task.ts'
import { verdictOfRefusal, verdictOfTask } from '../../../../src/pipeline/push/waves/learn-size.ts'
import { contract } from '../../../exchange/test-client.ts'

const task = (status: string, rowErrors: object[] = []) =>
  decodeTask(contract, { correlationId: '0b6c2f4e-0000-4000-8000-000000000001', status, error: { rowErrors } })
/** A file says what became of each row. */
const withFile = { file: { url: 'https://exchange.example/files/1' } }
const row = { identifiedByValue: 'H-1', reason: 'value_out_of_range' }

it.each([
  ['Success', [], 'succeeded'],
  ['PartialSuccess', [row], 'succeeded'],
  ['Error', [], 'failed'],
  ['Error', [row], null],
  ['Cancelled', [], null],
])('a task that ended as %s with the error rows %j says of the size: %s', (status, rows, verdict) => {
  expect(verdictOfTask(contract, task(status, rows))).toBe(verdict)
})

it('a task that ended as Error with a result file says nothing of the size: it failed over its rows', () => {
  const raw = { correlationId: '0b6c2f4e-0000-4000-8000-000000000001', status: 'Error', ...withFile }
  expect(verdictOfTask(contract, decodeTask(contract, raw))).toBeNull()
})

it.each([
  [413, 'too_large'],
  [400, null],
  [403, null],
])('a refusal with %i says of the size: %s', (status, verdict) => {
  const call = { method: 'POST', url: 'https://exchange.example/api/v2/bulk/companies/upsert' }
  const error = new HttpError(call, { status, errorCode: null, serviceMessage: null, retryAfterMs: null })
  expect(verdictOfRefusal(error)).toBe(verdict)
})
