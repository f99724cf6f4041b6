import { httpServer, type Listening } from '../exchange/fault-server.ts'

/**
 * Stands before the service and exchanges one key for another, so that a test can choose the key that we are given: the
 * service knows only its own.
 */
export async function keyChangingProxy(target: string, given: string, known: string): Promise<Listening> {
  return await httpServer(async ({ method, path, headers, body }, response) => {
    const { authorization = '' } = headers
    const answer = await fetch(new URL(path, target), {
      method,
      headers: { authorization: authorization === given ? known : 'unknown', 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
}
