import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type LosingProxy = AsyncDisposable & {
  url: string
  /** Answers that were lost so far. */
  lost(): number
}

/**
 * Stands between us and the service, and loses the answer to the first POST that ends in `path`: the service has taken
 * it.
 */
export async function losingProxy(target: string, path: string): Promise<LosingProxy> {
  let lost = 0
  const server = createServer((request, response) => {
    void (async () => {
      const answer = await forward(target, request)
      if (lost === 0 && request.method === 'POST' && request.url?.endsWith(path)) {
        lost += 1
        response.socket?.destroy()
        return
      }
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' })
      response.end(Buffer.from(await answer.arrayBuffer()))
    })().catch(() => response.socket?.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost: () => lost,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function forward(target: string, request: IncomingMessage): Promise<Response> {
  const body = await buffer(request)
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && ['authorization', 'content-type'].includes(name) ? [[name, value]] : [],
  )
  return await fetch(new URL(request.url ?? '/', target), {
    method: request.method ?? 'GET',
    headers,
    ...(body.length > 0 && { body }),
  })
}
