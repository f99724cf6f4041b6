import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { isLoopbackHost } from '../network/address-kind.ts'
import type { Endpoint } from './contract.ts'
import { createTunnel } from './tunnel.ts'

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
  /** The proxy on the way to every host but this machine; null or undefined: hosts are called directly. */
  proxy?: ProxyAddress
}

/** A function is asked for each connection: the address may change while the process goes on. */
export type ProxyAddress = string | null | undefined | (() => string | null)

/**
 * Opens sockets for undici, and marks whatever goes wrong before they can be used as a `ConnectFailure`.
 *
 * HTTP/2 is off: many requests would share one connection, and its loss would make all of them uncertain at once.
 * Through a proxy TLS is spoken with the host itself: the proxy sees its name and port, and nothing of a request.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { connectTimeoutMs: timeoutMs, ca, lookup, proxy } = options
  const tls = { timeout: timeoutMs, allowH2: false, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) }
  const connect = buildConnector({ ...tls, ...(lookup !== undefined && { lookup }) })
  const connectProxy = buildConnector(tls)
  return (to, callback) => {
    const done: buildConnector.Callback = (...[error, socket]) => {
      if (error !== null) callback(new ConnectFailure(error), null)
      else callback(null, socket)
    }
    const address = typeof proxy === 'function' ? proxy() : proxy
    if (address == null || !goesByProxy(to)) connect(to, done)
    else {
      const tunnel = createTunnel({ proxy: address, lookup, timeoutMs, connect: connectProxy })
      callbackify(tunnel)(to.hostname, to.port || '443', (error, httpSocket) => {
        if (error !== null) done(error, null)
        else connect({ ...to, httpSocket }, done)
      })
    }
  }
}

/** Whether a host is called through the proxy, where there is one: no proxy leads back to this machine. Pure. */
export function goesByProxy({ protocol, hostname }: { protocol: string; hostname: string }): boolean {
  return protocol === 'https:' && !isLoopbackHost(hostname)
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
