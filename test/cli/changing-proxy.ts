import { httpServer, sendJson } from '../exchange/fault-server.ts'

export type ChangingProxy = {
  url: string
  /** From now on, what the service answers to GET `path` is changed on its way to us. */
  change(path: string, change: (json: unknown) => unknown): void
  close(): Promise<void>
}

/** Stands between us and the service, and passes everything on but what a test changes. */
export async function changingProxy(target: string): Promise<ChangingProxy> {
  const changes = new Map<string, (json: unknown) => unknown>()
  const server = await httpServer(async ({ method, path, headers, body }, response) => {
    const answer = await fetch(new URL(path, target), {
      method,
      headers: { authorization: headers.authorization ?? '', 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    })
    const change = method === 'GET' ? changes.get(path) : undefined
    const json: unknown = await answer.json()
    sendJson(response, change === undefined ? json : change(json), answer.status)
  })
  return {
    url: server.url,
    change: (path, change) => changes.set(path, change),
    close: async () => await server[Symbol.asyncDispose](),
  }
}
