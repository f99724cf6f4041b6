import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { type buildConnector, Client } from 'undici'
import { proxyDeniedCode } from './errors.ts'

/** The proxy opened no tunnel, so nothing has left for the host behind it. */
export class ProxyFailure extends Error {
  readonly code: 'proxy_unreachable' | 'proxy_unauthorized' | 'proxy_refused'

  constructor(code: ProxyFailure['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProxyFailure'
    this.code = code
  }
}

type TunnelOptions = {
  /** `http://user:password@host:port`, or https. */
  proxy: string
  /** Opens the connection to the proxy itself. */
  connect: buildConnector.connector
  /** For each address that is tried: from the connection to the proxy's answer. */
  timeoutMs: number
  /** Resolves the names of hosts; without one the proxy gets the name, and resolves it. */
  lookup?: LookupFunction | undefined
}

/** Opens connections through an HTTP proxy, by CONNECT (RFC 9110, 9.3.6). */
export function createTunnel(options: TunnelOptions): (host: string, port: string) => Promise<Socket> {
  return async (host, port) => {
    let refused: unknown
    for (const address of await addressesOf(host, options.lookup)) {
      try {
        return await openTunnel(`${isIPv6(address) ? `[${address}]` : address}:${port}`, options)
      } catch (error) {
        if (!(error instanceof ProxyFailure) || error.code !== 'proxy_refused') throw error
        refused = error
      }
    }
    throw refused
  }
}

async function addressesOf(host: string, lookup: LookupFunction | undefined): Promise<string[]> {
  if (lookup === undefined || isIP(host) !== 0) return [host]
  return await new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) reject(error)
      else resolve([found].flat().map((one) => (typeof one === 'string' ? one : one.address)))
    })
  })
}

async function openTunnel(to: string, { proxy, connect, timeoutMs }: TunnelOptions): Promise<Socket> {
  const { origin, host, username, password } = new URL(proxy)
  const credentials = [username, password].map(decodeURIComponent).join(':')
  const known = credentials !== ':'
  // Of one connection each: what became a tunnel is no connection of this client any more.
  // It takes the name to ask for by TLS from the request, and so that of the host behind the proxy.
  const client = new Client(origin, { connect: ({ servername: _, ...own }, done) => connect(own, done) })
  try {
    const { statusCode, headers, socket } = await client.connect({
      path: to,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        host: to,
        'user-agent': 'nightferry',
        ...(known && { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
    })
    if (statusCode >= 200 && statusCode <= 299) return socket as Socket
    socket.on('error', () => {}).destroy()
    if (statusCode === 407) {
      const schemes = [headers['proxy-authenticate'] ?? []].flat().join(', ')
      throw new ProxyFailure(proxyDeniedCode, unauthorized(host, known, schemes))
    }
    throw new ProxyFailure('proxy_refused', `the proxy ${host} opens no connection to ${to}: it answers ${statusCode}`)
  } catch (error) {
    if (error instanceof ProxyFailure) throw error
    const { message } = error as Error
    throw new ProxyFailure('proxy_unreachable', `the proxy ${host} in exchange.proxy cannot be reached: ${message}`, {
      cause: error,
    })
  } finally {
    await client.destroy()
  }
}

function unauthorized(host: string, known: boolean, schemes: string): string {
  if (schemes !== '' && !/\bbasic\b/i.test(schemes)) {
    return `the proxy ${host} (407) takes no user and password as such, and Nightferry knows no other way: let this machine pass without them`
  }
  return known
    ? `the proxy ${host} does not accept the user and password in exchange.proxy (407): correct them`
    : `the proxy ${host} wants a user and a password (407): write them into exchange.proxy`
}
