import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { maxUrlLength } from '../webhooks/judge-target.ts'

const header = z.strictObject({ name: z.string(), value: z.string() }).nullable()
const url = z.string().max(maxUrlLength)

/** Topics that a webhook can be subscribed to: all but that of the Test button. */
function subscribable({ webhookTopics: { test, ...topics } }: Contract) {
  const topic = z.enum(Object.values(topics).filter((name) => name !== test))
  return z
    .array(topic)
    .min(1)
    .transform((names) => [...new Set(names)])
}

/** The body of a creation, and that of a change, in which every member is optional. */
export function webhookBodies(contract: Contract) {
  const topics = subscribable(contract)
  return {
    creation: z.strictObject({ url, topics, header: header.optional(), enabled: z.boolean().optional() }),
    change: z.strictObject({
      url: url.optional(),
      topics: topics.optional(),
      header: header.optional(),
      enabled: z.boolean().optional(),
    }),
  }
}

const time = z.iso.datetime()

export const webhookAnswer = z.object({
  id: z.uuid(),
  url: z.string(),
  topics: z.array(z.string()),
  header: z.object({ name: z.string() }).nullable(),
  enabled: z.boolean(),
  createdAt: time,
})

export const createdWebhookAnswer = webhookAnswer.extend({ secret: z.string() })
export const secretAnswer = z.object({ secret: z.string() })
export const testAnswer = z.object({ deliveryId: z.uuid(), eventId: z.uuid() })
export const resentAnswer = z.object({ deliveryId: z.uuid() })

/** Which lines of the log: `limit` of them, older than the delivery `before`. */
export const deliveriesQuery = z.object({
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
  before: z.guid().optional(),
})

export const deliveriesAnswer = z.array(
  z.object({
    id: z.uuid(),
    eventId: z.uuid(),
    type: z.string(),
    status: z.enum(['queued', 'delivered', 'failed', 'stopped']),
    payload: z.looseObject({}),
    createdAt: time,
    nextAttemptAt: time.nullable(),
    attempts: z.array(
      z.object({
        at: time,
        webhookTimestamp: z.int(),
        httpStatus: z.int().nullable(),
        error: z.string().nullable(),
        latencyMs: z.int(),
        responseExcerpt: z.string().nullable(),
      }),
    ),
    chaos: z.array(z.string()).nullable(),
  }),
)
