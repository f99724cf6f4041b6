import type { z } from 'zod'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'
import { type CustomHeader, faultOfHeader } from '../webhooks/judge-header.ts'
import { judgeTarget, TargetRefused } from '../webhooks/judge-target.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
  rotateSecret,
} from '../webhooks/webhook-store.ts'
import { found } from './find-webhook.ts'
import { createdWebhookAnswer, secretAnswer, webhookAnswer, webhookBodies } from './webhook-schemas.ts'

const tag = 'Webhooks'
const collection = '/sandbox/webhooks'
const one = `${collection}/{webhookId}`
const notFound = { 404: { description: 'The profile has no such webhook.' } }

/**
 * How the real service's web application has webhooks configured (specification, Webhook). Each profile has its own.
 */
export function webhookOperations(sandbox: Sandbox): Operation[] {
  const { pool } = sandbox
  const bodies = webhookBodies(sandbox.contract)
  return [
    operation({
      id: 'listWebhooks',
      method: 'GET',
      path: collection,
      tag,
      summary: "The profile's webhooks",
      answers: { 200: { description: 'All webhooks, the oldest first.', schema: webhookAnswer.array() } },
      handle: ({ apiKey }) => listWebhooks(pool, apiKey.profileId),
    }),
    operation<z.infer<typeof bodies.creation>>({
      id: 'createWebhook',
      method: 'POST',
      path: collection,
      tag,
      summary: 'Creates a webhook',
      description: 'Up to five per profile. The answer is the only one that shows the signing secret.',
      body: bodies.creation,
      answers: {
        201: { description: 'The webhook, with its secret.', schema: createdWebhookAnswer },
        409: { description: 'The profile has five webhooks.' },
      },
      handle: async ({ apiKey, body, reply }) => {
        const { topics, header = null, enabled = true } = body
        checkHeader(sandbox, header)
        const url = await checkUrl(sandbox, body.url)
        const created = await createWebhook(sandbox, apiKey.profileId, { url, topics, header, enabled })
        void reply.code(201)
        return created
      },
    }),
    operation({
      id: 'readWebhook',
      method: 'GET',
      path: one,
      tag,
      summary: 'A webhook',
      answers: { 200: { description: 'The webhook, without its secret.', schema: webhookAnswer }, ...notFound },
      handle: ({ apiKey, params }) => found(params, (id) => readWebhook(pool, apiKey.profileId, id)),
    }),
    operation<z.infer<typeof bodies.change>>({
      id: 'changeWebhook',
      method: 'PATCH',
      path: one,
      tag,
      summary: 'Changes a webhook',
      description: 'Members that are absent stay as they are. Disabling stops everything that is still queued.',
      body: bodies.change,
      answers: { 200: { description: 'The webhook, without its secret.', schema: webhookAnswer }, ...notFound },
      handle: async ({ apiKey, params, body }) => {
        const { url, header, topics, enabled } = body
        if (header !== undefined) checkHeader(sandbox, header)
        const changes = {
          ...(url !== undefined && { url: await checkUrl(sandbox, url) }),
          ...(header !== undefined && { header }),
          ...(topics !== undefined && { topics }),
          ...(enabled !== undefined && { enabled }),
        }
        return found(params, (id) => changeWebhook(sandbox, apiKey.profileId, id, changes))
      },
    }),
    operation({
      id: 'deleteWebhook',
      method: 'DELETE',
      path: one,
      tag,
      summary: 'Deletes a webhook, with its log',
      answers: { 204: { description: 'It is gone.' }, ...notFound },
      handle: async ({ apiKey, params, reply }) => {
        await found(params, async (id) => (await deleteWebhook(pool, apiKey.profileId, id)) || null)
        void reply.code(204)
      },
    }),
    operation({
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: `${one}/rotate-secret`,
      tag,
      summary: 'Gives a webhook a new signing secret',
      description: 'For a day both secrets sign; the signature header then has two entries.',
      answers: { 200: { description: 'The new secret, shown only here.', schema: secretAnswer }, ...notFound },
      handle: async ({ apiKey, params }) => ({
        secret: await found(params, (id) => rotateSecret(sandbox, apiKey.profileId, id)),
      }),
    }),
  ]
}

function checkHeader({ contract }: Sandbox, header: CustomHeader | null): void {
  const reserved = Object.values(contract.names.webhookHeaders).map((name) => name.toLowerCase())
  const fault = header && faultOfHeader(header, reserved)
  if (fault) throw new RequestRefused(400, 'webhook_header_refused', fault)
}

/** The URL as it will be connected to. @throws {RequestRefused} 400 when it is not one that webhooks may have. */
async function checkUrl({ webhooks }: Sandbox, text: string): Promise<string> {
  try {
    return (await judgeTarget(text, webhooks)).href
  } catch (error) {
    if (error instanceof TargetRefused) throw new RequestRefused(400, 'webhook_url_refused', error.message)
    throw error
  }
}
