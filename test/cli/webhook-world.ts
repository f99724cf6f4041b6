import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { contract } from '../exchange/test-client.ts'
import { canaries } from '../helpers/canaries.ts'
import { startWorld, type World, type WorldOptions } from '../helpers/world.ts'

export type WebhookWorld = AsyncDisposable & {
  world: World
  /** Where the receiver is to listen; the webhook at the service leads there. */
  url: string
  secret: string
  /** What a process needs besides the variables of the world. */
  environment(): Record<string, string>
  /** Calls the administration of the service. */
  administer(method: string, path: string, body?: object): Promise<unknown>
  webhookId: string
}

/** A world whose service has a webhook that leads to a receiver which nobody has started yet. */
export async function startWebhookWorld(options: WorldOptions): Promise<WebhookWorld> {
  const world = await startWorld({
    migrated: true,
    ...options,
    service: { allowInsecureWebhooks: true, webhookDispatchMs: 200, ...options.service },
  })
  const port = await freePort()
  const administer = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${world.sandboxUrl}/sandbox${path}`, {
      method,
      headers: { authorization: canaries.apiKey, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.status === 204 ? null : await response.json()
  }
  const { test: _, ...topics } = contract.webhookTopics
  const url = `http://127.0.0.1:${port}`
  const { id, secret } = (await administer('POST', '/webhooks', {
    url: `${url}/webhooks`,
    topics: Object.values(topics),
    header: { name: 'X-Hotel-Group', value: 'a word of ours' },
  })) as { id: string; secret: string }
  return {
    world,
    url,
    secret,
    webhookId: id,
    administer,
    environment: () => ({
      ...world.environment(),
      EXCHANGE_WEBHOOK_SECRET: secret,
      EXCHANGE_WEBHOOK_HEADER_VALUE: 'a word of ours',
      NIGHTFERRY_WEBHOOKS_HEADER_NAME: 'X-Hotel-Group',
      NIGHTFERRY_WEBHOOKS_PORT: String(port),
    }),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
