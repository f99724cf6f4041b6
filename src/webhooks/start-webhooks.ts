import type pg from 'pg'
import { createDatabase, createPool } from '../db/database.ts'
import { schemaName } from '../db/schema-standing.ts'
import { createWebhookVerifier } from '../exchange/webhook-signature.ts'
import { customHeaderOf, webhookConnections } from './check-webhook-settings.ts'
import { createRefusalCounter, type RefusalReason } from './count-refusals.ts'
import { keepInbox } from './keep-inbox.ts'
import { type Listener, listen } from './listen.ts'
import { createEventStore } from './store-events.ts'
import { takeDelivery } from './take-delivery.ts'
import type { WebhookDeps } from './webhook-deps.ts'

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
    store: createEventStore(pool, (error) => logger.warn({ error: error.message }, 'webhooks_not_stored')),
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
