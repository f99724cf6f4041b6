import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A call on its way to the service, its body read whole. They are numbered from 1. */
export type PassingCall = {
  nth: number
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
}

/**
 * What becomes of a call: `forward` lets the service see it, and gives its answer. What is returned is passed on to the
 * caller; null: the connection breaks, and the caller gets no answer.
 */
type Decide = (call: PassingCall, forward: () => Promise<Response>) => Promise<Response | null> | Response | null

/** Stands between us and the service. */
export async function serviceProxy(target: string, decide: Decide): Promise<AsyncDisposable & { url: string }> {
  let calls = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/', headers } = request
    calls += 1
    const call = { nth: calls, method, path, headers, body: await buffer(request) }
    const answer = await decide(call, () => forward(target, call))
    if (answer === null) return void response.socket?.destroy()
    response.writeHead(answer.status, Object.fromEntries(kept(answer.headers)))
    response.end(Buffer.from(await answer.arrayBuffer()))
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.socket?.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Without those that speak of the connection or of a coding that was undone on the way. */
function kept(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => !/^(content-encoding|content-length|transfer-encoding|connection)$/.test(name))
}

async function forward(target: string, { method, path, headers, body }: PassingCall): Promise<Response> {
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && !/^(host|connection|content-length|transfer-encoding)$/.test(name)
      ? [[name, value]]
      : [],
  )
  return await fetch(new URL(path, target), { method, headers: passed, ...(body.length > 0 && { body }) })
}
