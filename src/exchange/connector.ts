import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { buildConnector } from 'undici'

/**
 * The connection was never established, TLS handshake included, so no byte of a request can have left.
 * An error code alone cannot say this: ECONNRESET comes before the handshake ends and after the request was read.
 */
export class ConnectFailure extends Error {
  /** The code of the cause. undici reads ERR_TLS_CERT_ALTNAME_INVALID from it. */
  readonly code: string

  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'ConnectFailure'
    this.code = 'code' in cause && typeof cause.code === 'string' ? cause.code : 'CONNECT_FAILED'
  }
}

type ConnectorOptions = {
  connectTimeoutMs: number
  /** PEM of certificate authorities to trust beside the well-known ones. */
  ca?: string | undefined
  /** Replaces the resolver of host names; Node never calls it for IP literals. */
  lookup?: LookupFunction | undefined
}

/**
 * Opens sockets for undici, and marks whatever goes wrong before they can be used as a `ConnectFailure`.
 *
 * HTTP/2 is off: many requests would share one connection, and its loss would make all of them uncertain at once.
 */
export function createConnector({ connectTimeoutMs, ca, lookup }: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    ...(lookup === undefined ? {} : { lookup }),
  })
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) callback(new ConnectFailure(error), null)
      else callback(null, socket)
    })
  }
}
