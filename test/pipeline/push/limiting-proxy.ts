import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type LimitingProxy = AsyncDisposable & {
  url: string
  /** Requests that were refused so far. */
  refused(): number
  /** Lets everything through from now on. */
  open(): void
}

/**
 * Stands between us and the service and refuses bulk requests with a body of more than `maxBytes` with 413, as gateways
 * do.
 */
export async function limitingProxy(target: string, maxBytes: number): Promise<LimitingProxy> {
  let refused = 0
  let limit = maxBytes
  const server = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request)
      if (request.url?.includes('/bulk/') && body.length > limit) {
        refused += 1
        response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>')
        return
      }
      const { authorization = '', 'content-type': type = '' } = request.headers
      const answer = await fetch(new URL(request.url ?? '/', target), {
        method: request.method ?? 'GET',
        headers: { authorization, ...(type !== '' && { 'content-type': type }) },
        ...(body.length > 0 && { body }),
      })
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' })
      response.end(Buffer.from(await answer.arrayBuffer()))
    })().catch(() => response.socket?.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    open: () => {
      limit = Number.POSITIVE_INFINITY
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
