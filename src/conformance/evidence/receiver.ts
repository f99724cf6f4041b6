import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A delivery as it reached us. */
export type Received = {
  /** The path of the webhook's address: which of ours it is. */
  path: string
  method: string
  headers: Readonly<Record<string, string>>
  /** Before any parsing. */
  body: Buffer
  /** Milliseconds since 1970, by our clock. */
  at: number
}

export type Receiver = {
  readonly url: string
  readonly received: readonly Received[]
  close(): Promise<void>
}

/** How a path answers; by default 204. */
type Manners = Readonly<Record<string, (response: ServerResponse) => void>>

const maxBodyBytes = 1024 * 1024

/** A receiver of webhooks on loopback that keeps what comes. */
export async function openReceiver(manners: Manners, now: () => number): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    readBody(request).then(
      (body) => {
        const path = request.url ?? '/'
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        )
        received.push({ path, method: request.method ?? '', headers, body, at: now() })
        const answer = manners[path]
        if (answer) answer(response)
        else response.writeHead(204).end()
      },
      () => request.destroy(),
    )
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new RangeError('a delivery is larger than any event')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
