import { ConnectFailure } from './connector.ts'

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
