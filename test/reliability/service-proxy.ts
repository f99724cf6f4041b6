import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** `refuse`: the service never sees the call. `lose`: it has taken it, and its answer is lost. */
export type Fate = 'pass' | 'refuse' | 'lose'

export type ServiceProxy = AsyncDisposable & { url: string; calls(): number }

/** Stands between Nightferry and the service, and decides for each call, numbered from 1, what becomes of it. */
export async function openServiceProxy(target: string, fateOf: (nth: number) => Fate): Promise<ServiceProxy> {
  let calls = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    calls += 1
    const fate = fateOf(calls)
    if (fate === 'refuse') return void response.socket?.destroy()
    const answer = await forward(target, request)
    if (fate === 'lose') return void response.socket?.destroy()
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
    calls: () => calls,
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

async function forward(target: string, request: IncomingMessage): Promise<Response> {
  const body = await buffer(request)
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && !/^(host|connection|content-length|transfer-encoding)$/.test(name)
      ? [[name, value]]
      : [],
  )
  return await fetch(new URL(request.url ?? '/', target), {
    method: request.method ?? 'GET',
    headers,
    ...(body.length > 0 && { body }),
  })
}
