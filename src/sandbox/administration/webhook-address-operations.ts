import { z } from 'zod'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'
import { judgeTarget, TargetRefused } from '../webhooks/judge-target.ts'

const body = z.strictObject({ url: z.string() })
const verdict = z.object({
  refused: z
    .object({ reason: z.string() })
    .nullable()
    .meta({ description: 'Why the real service would refuse the address; null when it would take it.' }),
})

/**
 * What the service would say of a webhook's address, however this sandbox was started: with insecure webhooks allowed,
 * its own configuration takes what the real one refuses.
 */
export function webhookAddressOperations({ webhooks }: Sandbox): Operation[] {
  return [
    operation<z.infer<typeof body>>({
      id: 'judgeWebhookAddress',
      method: 'POST',
      path: '/sandbox/webhook-addresses/judge',
      tag: 'Webhooks',
      summary: 'Judges the address of a webhook as the real service does, and configures nothing',
      body,
      answers: { 200: { description: 'The verdict.', schema: verdict } },
      handle: async ({ body: { url } }) => {
        try {
          await judgeTarget(url, { lookup: webhooks.lookup, allowInsecure: false })
          return { refused: null }
        } catch (error) {
          if (error instanceof TargetRefused) return { refused: { reason: error.message } }
          throw error
        }
      },
    }),
  ]
}
