import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { buildConnector } from 'undici'
import type { Endpoint } from './contract.ts'

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

type ServiceAddress = {
  origin: string
  /** Path in front of every endpoint's path; empty, or without a slash at its end. */
  prefix: string
}

/**
 * Reads the base address; its path, if it has one, is kept.
 * @throws {TypeError} when it is no http or https address, or carries credentials.
 */
export function serviceAddress(baseUrl: string): ServiceAddress {
  const url = new URL(baseUrl)
  if (!['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('the base address must be http or https, without credentials')
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/**
 * Address of an endpoint, with `id` in place of its placeholder.
 * @throws {TypeError} for an id of dots alone: encoding leaves dots as they are, and such a path climbs to another
 * endpoint.
 */
export function endpointUrl(address: ServiceAddress, endpoint: Endpoint, id?: string): URL {
  if (id !== undefined && /^\.*$/.test(id)) throw new TypeError(`"${id}" is no id`)
  const path = id === undefined ? endpoint.path : endpoint.path.replace(/\{\w+\}/, () => encodeURIComponent(id))
  return new URL(`${address.origin}${address.prefix}${path}`)
}
