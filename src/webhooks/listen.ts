import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'

type ListenOptions = {
  host: string
  /** 0: any free one. */
  port: number
  /** For the headers of a request; all of it may take twice as long. */
  headersTimeoutMs: number
  maxConnections: number
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

export type Listener = { url: string; close(): Promise<void> }

/** How often clients that are too slow are looked for: they are gone this much after their time, at most. */
const checkEveryMs = 500

/** A sender that has more comes at once; an idle connection is one fewer for others. */
const idleMs = 5_000

/** Bytes of all headers together; the service sends some 600. */
const maxHeaderBytes = 8 * 1024

/** The address cannot be listened on. */
class WebhooksCannotListen extends Error {
  readonly code = 'webhooks_cannot_listen'
}

/**
 * A server for webhooks alone. Clients that are slow, keep connections open or send what is no HTTP are cut off without
 * a word.
 * @throws {WebhooksCannotListen} when the address is in use, or not ours.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, headersTimeoutMs } = options
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: 2 * headersTimeoutMs,
      connectionsCheckingInterval: checkEveryMs,
      keepAliveTimeout: idleMs,
      maxHeaderSize: maxHeaderBytes,
    },
    (request, response) => {
      options.handle(request, response).catch(() => response.destroy())
    },
  )
  server.maxConnections = options.maxConnections
  server.on('clientError', (_error, socket) => socket.destroy())
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'something else listens there' : message
    throw new WebhooksCannotListen(
      `Webhooks cannot be received at ${host}:${port}: ${why}. Set webhooks.host and webhooks.port to a free address of this machine`,
    )
  }
  const { port: taken } = server.address() as AddressInfo
  return { url: `http://${isIPv6(host) ? `[${host}]` : host}:${taken}`, close: () => close(server) }
}

/** How long what is under way when it closes may take. What was not answered is delivered again. Milliseconds. */
const closingMs = 2_000

/** What is under way is answered; who has nothing under way is cut off. */
async function close(server: Server): Promise<void> {
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), closingMs)
  await once(server, 'close')
  clearTimeout(cut)
}
