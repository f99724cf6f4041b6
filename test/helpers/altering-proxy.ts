import { httpServer, type Seen } from '../exchange/fault-server.ts'

/** An answer of the service on its way to us. */
export type Passing = { status: number; json: unknown; headers: Record<string, string> }

export type AlteringProxy = AsyncDisposable & {
  url: string
  seen: Seen[]
  /** How many requests there were of a method whose path ends so. */
  count(method: string, ending: string): number
}

/** Stands between us and the service. What it answers is passed on as `alter` leaves it; null: the answer is lost. */
export async function alteringProxy(
  target: string,
  alter: (request: Seen, answer: Passing) => Passing | null,
): Promise<AlteringProxy> {
  const server = await httpServer(async (request, response) => {
    const { method, path, headers, body } = request
    const answer = await fetch(new URL(path, target), {
      method,
      headers: { authorization: headers.authorization ?? '', 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    }).catch(() => null)
    if (answer === null) return response.socket?.destroy()
    const text = await answer.text()
    const date = answer.headers.get('date')
    const passed = alter(request, {
      status: answer.status,
      json: text === '' ? null : JSON.parse(text),
      headers: date === null ? {} : { date },
    })
    if (passed === null) return response.socket?.destroy()
    response.writeHead(passed.status, { 'content-type': 'application/json', ...passed.headers })
    return response.end(JSON.stringify(passed.json))
  })
  return {
    url: server.url,
    seen: server.seen,
    count: (method, ending) => server.seen.filter((one) => one.method === method && one.path.endsWith(ending)).length,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
