import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import type pg from 'pg'
import { createDatabase, createPool } from '../db/database.ts'
import { schemaName } from '../db/schema-standing.ts'
import { createWebhookVerifier } from '../exchange/webhook-signature.ts'
import { limitConnections } from '../network/limit-connections.ts'
import { webhookConnections } from './check-webhook-settings.ts'
import { keepInbox, type WebhookDeps } from './keep-inbox.ts'
import {
  createEventStore,
  createRefusalCounter,
  customHeaderOf,
  type RefusalReason,
  takeDelivery,
} from './take-delivery.ts'

/** A statement that does not end when the receiver closes is cut off: what it left open another daemon finds. */
const closingMs = 2_000

/**
 * Receives webhooks and works them off until it is closed. Specification: Events.
 * @param url of Nightferry's database.
 * @throws {WebhookSecretError} when a secret is none. @throws {WebhooksCannotListen}
 */
export async function startWebhooks(deps: WebhookDeps, url: string): Promise<Listener> {
  const { config, contract, logger } = deps
  const pool = createPool(url, {
    max: webhookConnections,
    applicationName: 'nightferry webhooks',
    searchPath: schemaName,
    connectTimeoutMs: 5_000,
    onIdleError: (error) => logger.debug({ error: error.message }, 'webhook_connection_lost'),
  })
  const db = createDatabase(pool)
  const refusals = createRefusalCounter()
  const inbox = keepInbox({ ...deps, db, refusals })
  const taking = {
    contract,
    path: config.path,
    // Read at each delivery: the configuration may be read again, with other secrets.
    get customHeader() {
      return customHeaderOf(config)
    },
    verify: verifierOf(config, () => deps.now().getTime()),
    store: createEventStore(pool, (error) => deps.tellTrouble('webhooks_not_stored', error)),
    taken: () => inbox.wake(),
    refused: (reason: RefusalReason) => refusals.count(reason),
  }
  const connections = new Set<pg.PoolClient>()
  pool.on('connect', (client) => connections.add(client)).on('remove', (client) => connections.delete(client))
  const close = async () => {
    const cut = setTimeout(() => {
      for (const client of connections) void (client as pg.Client & pg.PoolClient).end().catch(() => {})
    }, closingMs)
    await inbox.close()
    await pool.end()
    clearTimeout(cut)
  }
  try {
    const listener = await listen({
      ...config,
      handle: (request, response) => takeDelivery(taking, request, response),
    })
    logger.info({ url: `${listener.url}${config.path}`, secrets: config.secrets.length }, 'webhooks_listening')
    inbox.start()
    return {
      url: listener.url,
      close: async () => {
        await listener.close()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Verifies by the secrets that the configuration has now. */
function verifierOf(config: WebhookDeps['config'], nowMs: () => number): ReturnType<typeof createWebhookVerifier> {
  let { secrets } = config
  let verify = createWebhookVerifier(secrets, nowMs)
  return (delivery) => {
    if (config.secrets !== secrets) {
      secrets = config.secrets
      verify = createWebhookVerifier(secrets, nowMs)
    }
    return verify(delivery)
  }
}

type ListenOptions = {
  host: string
  /** 0: any free one. */
  port: number
  /** For the headers of a request; all of it may take twice as long. */
  headersTimeoutMs: number
  maxConnections: number
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

type Listener = { url: string; close(): Promise<void> }

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
async function listen(options: ListenOptions): Promise<Listener> {
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
      request.once('end', () => connections.answers(request, response))
      options.handle(request, response).catch(() => response.destroy())
    },
  )
  const connections = limitConnections(server, options.maxConnections)
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
const cuttingMs = 2_000

/** What is under way is answered; who has nothing under way is cut off. */
async function close(server: Server): Promise<void> {
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), cuttingMs)
  await once(server, 'close')
  clearTimeout(cut)
}
