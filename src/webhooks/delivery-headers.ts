import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Contract } from '../exchange/contract.ts'
import type { SignedDelivery } from '../exchange/webhook-signature.ts'

/** What a header that must not be doubled says; undefined where it is missing or came more than once. */
function only(request: Pick<IncomingMessage, 'headersDistinct'>, name: string): string | undefined {
  const values = request.headersDistinct[name.toLowerCase()]
  return values?.length === 1 ? values[0] : undefined
}

/**
 * The signed headers of a delivery. One that came twice counts as missing: Node would join the two into a text that
 * nobody sent.
 */
export function signedHeaders(
  { names: { webhookHeaders } }: Pick<Contract, 'names'>,
  request: Pick<IncomingMessage, 'headersDistinct'>,
): Omit<SignedDelivery, 'body'> {
  return {
    id: only(request, webhookHeaders.id),
    timestamp: only(request, webhookHeaders.timestamp),
    signature: only(request, webhookHeaders.signature),
  }
}

/** The custom header that a webhook was given at the service. */
export type CustomHeader = { name: string; value: string }

/** Whether a delivery has the custom header. Compares in constant time: of hashes, so that no length shows either. */
export function hasCustomHeader(
  { name, value }: CustomHeader,
  request: Pick<IncomingMessage, 'headersDistinct'>,
): boolean {
  const given = only(request, name)
  return given !== undefined && timingSafeEqual(hashOf(given), hashOf(value))
}

function hashOf(text: string): Buffer {
  // Node reads headers as Latin-1: the bytes are those that were sent, in whichever encoding the value is UTF-8.
  return createHash('sha256').update(text, 'utf8').digest()
}
