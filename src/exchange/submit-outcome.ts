import type { Contract } from './contract.ts'
import { AnswerFormatError, type Call, HttpError, TransportError, UncertainSubmission } from './errors.ts'
import { idOf, objectOf } from './wire-value.ts'

/**
 * What the status of an answer to a POST says about the request. `refused`: the service will not take it. `declined`:
 * it was not taken up, and may be sent again. `ambiguous`: a task of it may be running.
 */
type PostVerdict = 'refused' | 'declined' | 'ambiguous'

/**
 * 401 and 429 come before a request is looked at. HTTP defines 421 (a connection to the wrong server) and 425 (too
 * early to be sure that it is no replay) as not processed, and as reasons to send it once more.
 */
const declined = new Set([401, 421, 425, 429])

/**
 * Client errors by which HTTP says that the request as it is was not carried out. Not among them: 408, which a proxy
 * also answers after it has passed everything on, and what proxies made up (460 and 499: the caller hung up).
 */
const refused = new Set([
  400, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 416, 417, 422, 423, 424, 426, 428, 431, 451,
])

/** Redirects that ask for the same POST elsewhere, so nobody has carried it out. After the others it may have been. */
const movedUndone = new Set([307, 308])

/** Client errors after which the service, or a proxy before it, may have begun the work. */
const gaveUpWaiting = new Set([408, 460, 499])

/**
 * Judges the answer to a POST by its status. Pure. In doubt it is ambiguous: being wrong that way costs a look at the
 * task list, being wrong the other way runs one request twice.
 *
 * A 5xx can come from a gateway that gave up on a service that did not. A client error that HTTP does not define is a
 * refusal only where the service itself says so with an `errorCode`; else it is a proxy's, and can mean anything. A 404
 * without one is that of a gateway that did not find the service, and passed nothing on.
 */
export function judgePostAnswer({ status, errorCode }: Pick<HttpError, 'status' | 'errorCode'>): PostVerdict {
  if (declined.has(status) || (status === 404 && errorCode === null)) return 'declined'
  if (refused.has(status) || movedUndone.has(status)) return 'refused'
  const ownWord = status >= 400 && status < 500 && errorCode !== null && !gaveUpWaiting.has(status)
  return ownWord ? 'refused' : 'ambiguous'
}

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
 * Only two failures prove that the service holds no task: nothing was sent, or the status of the answer says so
 * (`judgePostAnswer`). A malformed success is a success all the same.
 */
export function submissionFailure(call: Call, error: unknown): unknown {
  if (error instanceof TransportError) return error.requestMayHaveArrived ? new UncertainSubmission(call, error) : error
  if (error instanceof HttpError) {
    return judgePostAnswer(error) === 'ambiguous' ? new UncertainSubmission(call, error) : error
  }
  return error instanceof AnswerFormatError ? new UncertainSubmission(call, error) : error
}
