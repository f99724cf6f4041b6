import type { Contract } from '../../exchange/contract.ts'
import type { DescribedEvent } from './describe-api.ts'
import { webhookEvents } from './webhook-events.ts'

/** What the service sends to webhooks (specification, Events). */
export function serviceEvents(
  contract: Contract,
): Record<'bulkEvent' | 'applicationEvent' | 'testEvent', DescribedEvent> {
  const { bulk, application, test } = webhookEvents(contract)
  const names = contract.names.webhookHeaders
  const headers = [
    { name: names.id, description: "The event's id." },
    { name: names.timestamp, description: 'Unix seconds at the moment of sending.' },
    { name: names.signature, description: 'Entries v1,<base64 HMAC-SHA256> of {id}.{timestamp}.{raw body}, spaced.' },
  ]
  const once = 'Sent at least once and in no order; a pointer, without results.'
  return {
    bulkEvent: {
      summary: "A bulk request's task reached a status",
      description: `${once} The task endpoint is the truth.`,
      schema: bulk,
      headers,
    },
    applicationEvent: {
      summary: 'An application that the profile owns moved, or its answers differ',
      description: `${once} Changes of answers fold into a delivery that is pending.`,
      schema: application,
      headers,
    },
    testEvent: { summary: 'The Test button', description: 'Cannot be subscribed to.', schema: test, headers },
  }
}
