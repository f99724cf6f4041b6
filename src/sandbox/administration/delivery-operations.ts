import { z } from 'zod'
import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'
import { queueTest, readDeliveries, resendDelivery } from '../webhooks/delivery-log.ts'
import { readWebhook } from '../webhooks/webhook-store.ts'
import { found, type Params } from './find-webhook.ts'
import { deliveriesAnswer, deliveriesQuery, resentAnswer, testAnswer } from './webhook-schemas.ts'

const tag = 'Webhooks'
const one = '/sandbox/webhooks/{webhookId}'
const notFound = { 404: { description: 'The profile has no such webhook.' } }

/** The Test button, the delivery log and re-sending from it (specification, Delivery and retries). */
export function deliveryOperations(sandbox: Sandbox): Operation[] {
  const { pool } = sandbox
  const own = (profileId: number, params: Params) => found(params, (id) => readWebhook(pool, profileId, id))
  return [
    operation({
      id: 'testWebhook',
      method: 'POST',
      path: `${one}/test`,
      tag,
      summary: 'Sends a test event at once',
      description: 'Also while the webhook is disabled. It is attempted once.',
      answers: { 202: { description: 'Queued.', schema: testAnswer }, ...notFound },
      handle: async ({ apiKey, params, reply }) => {
        const queued = await queueTest(sandbox, (await own(apiKey.profileId, params)).id)
        sandbox.webhooks.wake()
        void reply.code(202)
        return queued
      },
    }),
    operation({
      id: 'listDeliveries',
      method: 'GET',
      path: `${one}/deliveries`,
      tag,
      summary: 'The delivery log of a webhook',
      description: 'The newest deliveries of the last thirty days, the newest first.',
      query: deliveriesQuery.shape,
      answers: {
        200: { description: 'Deliveries with their attempts.', schema: deliveriesAnswer },
        400: { description: 'The query cannot be read.' },
        ...notFound,
      },
      handle: async ({ apiKey, params, query }) => {
        const wanted = deliveriesQuery.safeParse(query)
        if (!wanted.success) throw new RequestRefused(400, 'query_invalid', z.prettifyError(wanted.error))
        const { before = null, limit } = wanted.data
        const { id: webhookId } = await own(apiKey.profileId, params)
        return readDeliveries(pool, { webhookId, before, limit })
      },
    }),
    operation({
      id: 'resendDelivery',
      method: 'POST',
      path: `${one}/deliveries/{deliveryId}/resend`,
      tag,
      summary: 'Sends a delivery again, at once',
      description: 'One that failed, was stopped, or waits for its next attempt.',
      answers: {
        202: { description: 'Queued.', schema: resentAnswer },
        404: { description: 'The profile has no such webhook, or it has no such delivery.' },
        409: { description: 'The delivery arrived before, or the webhook is disabled.' },
      },
      handle: async ({ apiKey, params, reply }) => {
        const webhook = await own(apiKey.profileId, params)
        const { deliveryId = '' } = params
        if (!isUuid(deliveryId)) {
          throw new RequestRefused(404, 'delivery_not_found', `The webhook has no delivery "${params.deliveryId}".`)
        }
        await resendDelivery(sandbox, webhook.id, deliveryId)
        sandbox.webhooks.wake()
        void reply.code(202)
        return { deliveryId }
      },
    }),
  ]
}
