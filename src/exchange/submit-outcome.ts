import type { Contract } from './contract.ts'
import { AnswerFormatError, type Call, HttpError, TransportError, UncertainSubmission } from './errors.ts'
import { idOf, objectOf } from './wire-value.ts'

/** Answered by the service's own gate after it may have queued the request: the outcome is in the redirect's target. */
const seeOther = 303

/** Stored under an index and put into a path: an id of another form could be neither kept nor asked for. */
const usableId = /^(?!\.+$)[\u0021-\u007e]{1,200}$/

/**
 * The correlation id of an accepted submission. Specification: What the service does.
 * @throws {AnswerFormatError} when the answer has none.
 */
export function decodeSubmitted(contract: Contract, json: unknown): { correlationId: string } {
  const name = contract.names.submitted.correlationId
  const correlationId = idOf(objectOf(json)?.[name])
  if (correlationId === null || !usableId.test(correlationId)) {
    throw new AnswerFormatError(`the answer to a submission has no usable ${name}`)
  }
  return { correlationId }
}

/**
 * What a failed submission means to its caller. Pure.
 *
 * Only two failures prove that the service holds no task: nothing was sent, or it refused (3xx, 4xx). A 5xx can come
 * from a gateway that gave up on a service that did not, and a malformed success is a success all the same.
 */
export function submissionFailure(call: Call, error: unknown): unknown {
  if (error instanceof TransportError) return error.requestMayHaveArrived ? new UncertainSubmission(call, error) : error
  if (error instanceof HttpError) {
    return error.status >= 500 || error.status === seeOther ? new UncertainSubmission(call, error) : error
  }
  return error instanceof AnswerFormatError ? new UncertainSubmission(call, error) : error
}
