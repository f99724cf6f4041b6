import { ConnectFailure } from './connector.ts'
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

/** `not_sent`: no byte of the request left, sending again is safe. `may_have_arrived`: it may be running there now. */
type FailureClass = 'not_sent' | 'may_have_arrived'

const notSentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
  // Refused by undici before any socket was used: an invalid argument, or a closed dispatcher.
  'UND_ERR_INVALID_ARG',
  'UND_ERR_CLOSED',
  // Node judges the certificate before it hands the connection over, and the request is written only then.
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** A wrapper of a wrapper of a wrapper is as deep as clients go; a cycle of causes must end. */
const maxCauses = 5

/**
 * Whether a failed request can have reached the service. Pure.
 *
 * Anything not known to have happened before the request was written counts as arrived: being wrong that way costs a
 * look at the task list, being wrong the other way runs one submission twice at the same time. So TLS alerts
 * (`ERR_SSL_…`, `EPROTO`) count as not sent only inside a `ConnectFailure`: TLS 1.3 can send them after the request.
 */
export function classifyFailure(error: unknown): FailureClass {
  return isNotSent(error, maxCauses) ? 'not_sent' : 'may_have_arrived'
}

function isNotSent(error: unknown, causesLeft: number): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof ConnectFailure) return true
  // Node tries several addresses of one host; each attempt must have failed before sending.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return causesLeft > 0 && error.errors.every((attempt) => isNotSent(attempt, causesLeft - 1))
  }
  const code = 'code' in error ? error.code : undefined
  if (typeof code === 'string') {
    return notSentCodes.has(code) || code.startsWith('EAI_') || isBeforeConnection(error)
  }
  return causesLeft > 0 && isNotSent(error.cause, causesLeft - 1)
}

function isBeforeConnection(error: Error): boolean {
  const syscall = 'syscall' in error && typeof error.syscall === 'string' ? error.syscall : ''
  return syscall === 'connect' || syscall === 'getaddrinfo' || syscall.startsWith('query')
}
