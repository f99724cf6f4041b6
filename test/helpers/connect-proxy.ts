import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Identity } from '../exchange/certificates.ts'

export type ConnectProxy = AsyncDisposable & {
  /** Without credentials. */
  url: string
  /** What it was asked to lead to, in order, with the status that it answered. */
  asked: [to: string, status: number][]
  /** Breaks off every connection that it has. */
  cut(): void
}

type ConnectProxyOptions = {
  /** The port of this machine that a host and port lead to, or the status that is answered instead. */
  lead: (to: string) => { port: number } | { status: number }
  /** `user:password`; without it everybody may pass. */
  credentials?: string
  /** What a 407 offers. */
  schemes?: string[]
  /** TLS of the proxy itself. */
  identity?: Identity
}

/** An HTTP proxy that opens tunnels by CONNECT, and answers nothing else. */
export async function connectProxy(options: ConnectProxyOptions): Promise<ConnectProxy> {
  const { lead, credentials, schemes = ['Basic realm="proxy"'], identity } = options
  const asked: ConnectProxy['asked'] = []
  const sockets = new Set<Socket | Duplex>()
  const keep = (socket: Socket | Duplex) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }
  const wanted = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`
  const server = identity === undefined ? createHttpServer() : createHttpsServer(identity)
  server.on('connection', keep)
  server.on('connect', (request: IncomingMessage, near: Duplex, head: Buffer) => {
    keep(near)
    const to = request.url ?? ''
    const isKnown = wanted === undefined || request.headers['proxy-authorization'] === wanted
    const led = isKnown ? lead(to) : { status: 407 }
    asked.push([to, 'status' in led ? led.status : 200])
    if ('status' in led) {
      const offers = led.status === 407 ? schemes.map((scheme) => `Proxy-Authenticate: ${scheme}\r\n`).join('') : ''
      near.end(`HTTP/1.1 ${led.status} Refused\r\n${offers}Content-Length: 4\r\n\r\nno.\n`)
      return
    }
    const far = connect(led.port, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      far.write(head)
      near.pipe(far).pipe(near)
    })
    keep(far)
    far.on('close', () => near.destroy())
    near.on('close', () => far.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `${identity === undefined ? 'http' : 'https'}://${identity === undefined ? '127.0.0.1' : 'localhost'}:${port}`,
    asked,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The address with a user and a password in it. */
export function withCredentials(url: string, credentials: string): string {
  const [user = '', password = ''] = credentials.split(':').map(encodeURIComponent)
  return url.replace('://', `://${user}:${password}@`)
}
