import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { Identity } from './certificates.ts'

export type Listening = AsyncDisposable & { port: number; url: string }

/** A request as the server saw it, its body read whole. */
export type Seen = { method: string; path: string; headers: IncomingMessage['headers']; body: string }

export type HttpServer = Listening & { seen: Seen[] }

/** A real HTTP server on a free port of 127.0.0.1; `answer` gets each request once its body is read. */
export async function httpServer(
  answer: (request: Seen, response: ServerResponse, number: number) => unknown,
  identity?: Identity,
): Promise<HttpServer> {
  const seen: Seen[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const entry = { method, path: url, headers, body: Buffer.concat(chunks).toString() }
      void answer(entry, response, seen.push(entry))
    })
  }
  const server = identity === undefined ? createHttpServer(listener) : createHttpsServer(identity, listener)
  return { seen, ...(await listening(server, identity === undefined ? 'http' : 'https')) }
}

/** A real TCP server on a free port of 127.0.0.1, for what no HTTP server would send. */
export async function tcpServer(onConnection: (socket: Socket) => void): Promise<Listening> {
  return listening(createTcpServer(onConnection), 'http')
}

/** A port of 127.0.0.1 on which nothing listens. */
export async function unusedPort(): Promise<number> {
  await using server = await tcpServer((socket) => socket.destroy())
  return server.port
}

async function listening(server: Server, scheme: string): Promise<Listening> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${scheme}://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
