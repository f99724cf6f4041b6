import { httpServer, type Listening } from '../exchange/fault-server.ts'

/** A service that knows no key, and repeats the one that it was given in many forms. */
export async function echoingService(): Promise<Listening> {
  return await httpServer(({ headers }, response) => {
    const { authorization: key = '' } = headers
    const forms = [key, JSON.stringify({ key }), encodeURIComponent(key), Buffer.from(`key:${key}`).toString('base64')]
    // The last is cut where a message becomes too long.
    const message = `${forms.join(' ').padEnd(1_990, '.')}${key}`
    response.writeHead(401, { 'content-type': 'application/json', 'x-key': key })
    response.end(JSON.stringify({ errorCode: key, message }))
  })
}
