import { describe, expect, it } from 'vitest'
import { ConnectFailure } from '../../src/exchange/connector.ts'
import { classifyFailure } from '../../src/exchange/submit-outcome.ts'

function failure(code: string, syscall?: string): Error {
  return Object.assign(new Error(code), syscall === undefined ? { code } : { code, syscall })
}

const notSent: [string, unknown][] = [
  ['a refused connection', failure('ECONNREFUSED', 'connect')],
  ['an unknown host', failure('ENOTFOUND', 'getaddrinfo')],
  ['a resolver that is busy', failure('EAI_AGAIN', 'getaddrinfo')],
  ['a resolver that has no memory', failure('EAI_MEMORY')],
  ['a resolver query that timed out', failure('ETIMEOUT', 'queryA')],
  ['a connection attempt that timed out', failure('ETIMEDOUT', 'connect')],
  ['no route at connecting', failure('EHOSTUNREACH', 'connect')],
  ['no network at connecting', failure('ENETUNREACH', 'connect')],
  ['no free file descriptor at connecting', failure('EMFILE', 'connect')],
  ['a reset at connecting', failure('ECONNRESET', 'connect')],
  ["undici's connect time-out", failure('UND_ERR_CONNECT_TIMEOUT')],
  ['an argument that undici refuses', failure('UND_ERR_INVALID_ARG')],
  ['a closed dispatcher', failure('UND_ERR_CLOSED')],
  ['an expired certificate', failure('CERT_HAS_EXPIRED')],
  ['a certificate of another host', failure('ERR_TLS_CERT_ALTNAME_INVALID')],
  ['a self-signed certificate', failure('DEPTH_ZERO_SELF_SIGNED_CERT')],
  ['an unknown authority', failure('UNABLE_TO_VERIFY_LEAF_SIGNATURE')],
  ['a reset before the connection was established', new ConnectFailure(failure('ECONNRESET'))],
  ['a TLS alert before the connection was established', new ConnectFailure(failure('ERR_SSL_WRONG_VERSION_NUMBER'))],
  [
    'all addresses refused',
    new AggregateError([failure('ECONNREFUSED', 'connect'), failure('ENETUNREACH', 'connect')]),
  ],
  [
    'a wrapper around a refused connection',
    new TypeError('fetch failed', { cause: failure('ECONNREFUSED', 'connect') }),
  ],
]

/** What Node says of a certificate, which it judges before the request is written. */
const certificates = [
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
]

/** An error so many wrappers deep: 0 is the error itself. */
function wrapped(depth: number, error: Error): Error {
  return depth === 0 ? error : new Error('wrapper', { cause: wrapped(depth - 1, error) })
}

/** An error within so many lists of attempts. */
function listed(depth: number, error: Error): Error {
  return depth === 0 ? error : new AggregateError([listed(depth - 1, error)])
}

const mayHaveArrived: [string, unknown][] = [
  ['a reset while reading', failure('ECONNRESET', 'read')],
  ['a reset without a system call', failure('ECONNRESET')],
  ['a broken pipe', failure('EPIPE', 'write')],
  ['a time-out while reading', failure('ETIMEDOUT', 'read')],
  ['no route while reading', failure('EHOSTUNREACH', 'read')],
  ['a socket error of undici', failure('UND_ERR_SOCKET')],
  ['a headers time-out', failure('UND_ERR_HEADERS_TIMEOUT')],
  ['a body time-out', failure('UND_ERR_BODY_TIMEOUT')],
  ['a destroyed dispatcher', failure('UND_ERR_DESTROYED')],
  ['an aborted request', failure('UND_ERR_ABORTED')],
  ['an answer that is no HTTP', failure('HPE_INVALID_CONSTANT')],
  ['a TLS alert on an open connection', failure('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')],
  ['EPROTO on an open connection', failure('EPROTO', 'write')],
  [
    'one address refused and one reset',
    new AggregateError([failure('ECONNREFUSED', 'connect'), failure('ECONNRESET')]),
  ],
  ['an aggregate of nothing', new AggregateError([])],
  ['an unknown code', failure('EWHATEVER')],
  ['an error without a code', new Error('what?')],
  ['an error with a code that is a number', Object.assign(new Error('20'), { code: 20 })],
  ['something that is no error', 'ECONNREFUSED'],
  ['nothing', undefined],
]

describe('classifyFailure', () => {
  it.each(notSent)('holds that nothing was sent after %s', (_title, error) => {
    expect(classifyFailure(error)).toBe('not_sent')
  })

  it.each(mayHaveArrived)('holds that the request may have arrived after %s', (_title, error) => {
    expect(classifyFailure(error)).toBe('may_have_arrived')
  })

  it('trusts the code of an error before that of its cause', () => {
    const error = Object.assign(failure('UND_ERR_SOCKET'), { cause: failure('ECONNREFUSED', 'connect') })
    expect(classifyFailure(error)).toBe('may_have_arrived')
  })

  it.each(certificates)('holds that nothing was sent to a certificate with %s', (code) => {
    expect(classifyFailure(failure(code))).toBe('not_sent')
  })

  it.each(['ECONNREFUSED', 'ENOTFOUND'])('holds that nothing was sent after %s without a system call', (code) => {
    expect(classifyFailure(failure(code))).toBe('not_sent')
  })

  it('goes by the system call where it does not know the code', () => {
    expect(classifyFailure(failure('EWHATEVER', 'getaddrinfo'))).toBe('not_sent')
    expect(classifyFailure(failure('EWHATEVER', 'connect'))).toBe('not_sent')
    expect(classifyFailure(Object.assign(failure('EWHATEVER'), { syscall: 7 }))).toBe('may_have_arrived')
  })

  it('looks five wrappers deep, of causes and of attempts, and no deeper', () => {
    const refused = failure('ECONNREFUSED', 'connect')
    for (const within of [wrapped, listed]) {
      expect(classifyFailure(within(5, refused))).toBe('not_sent')
      expect(classifyFailure(within(6, refused))).toBe('may_have_arrived')
    }
  })

  it('ends on a cycle of attempts', () => {
    const around = new AggregateError([])
    around.errors.push(around)
    expect(classifyFailure(around)).toBe('may_have_arrived')
  })

  it('ends on a cycle of causes', () => {
    const error = new Error('around')
    error.cause = error
    expect(classifyFailure(error)).toBe('may_have_arrived')
  })
})
