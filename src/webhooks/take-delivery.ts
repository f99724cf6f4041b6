import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Contract } from '../exchange/contract.ts'
import type { createWebhookVerifier } from '../exchange/webhook-signature.ts'
import { type CustomHeader, hasCustomHeader, signedHeaders } from './delivery-headers.ts'
import type { EventStore } from './store-events.ts'
import type { RefusalReason } from './webhook-deps.ts'

type Taking = {
  contract: Pick<Contract, 'names'>
  path: string
  customHeader: CustomHeader | null
  verify: ReturnType<typeof createWebhookVerifier>
  store: EventStore
  /** Told once an event is committed. */
  taken: () => void
  refused: (reason: RefusalReason) => void
}

/**
 * Takes one delivery: verified over the bytes as they came, committed, and only then answered with 204. Anyone who is
 * refused learns nothing but that: 404 for another path or method, else 400, both without a body. 503 if it cannot be
 * stored: the service delivers it again. Specification: Signature, Delivery and retries.
 */
export async function takeDelivery(taking: Taking, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refuse = (reason: RefusalReason, status = 400) => {
    taking.refused(reason)
    answer(request, response, status)
  }
  if (request.method !== 'POST' || request.url !== taking.path) return refuse('other_path_or_method', 404)
  const signed = signedHeaders(taking.contract, request)
  // What nobody signed need not be read.
  const { id, timestamp, signature } = signed
  if (id === undefined || timestamp === undefined || signature === undefined) return refuse('header_missing')
  const body = await readBody(request)
  if (body === null) return refuse('body_too_large_or_cut')
  const verification = taking.verify({ ...signed, body })
  if (!verification.verified) return refuse(verification.reason)
  if (taking.customHeader !== null && !hasCustomHeader(taking.customHeader, request)) {
    return refuse('custom_header_wrong')
  }
  try {
    await taking.store.store({ eventId: id.toLowerCase(), payload: storable(body) })
  } catch {
    return refuse('not_stored', 503)
  }
  taking.taken()
  answer(request, response, 204)
}

/** Bytes that are no text are no event either: with what stands in their place it is found to be unreadable. */
function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\u{FFFD}')
}

function answer(request: IncomingMessage, response: ServerResponse, status: number): void {
  // What was not read to its end cannot be followed by another request on the same connection.
  if (!request.complete) response.setHeader('connection', 'close')
  response.writeHead(status, { 'content-length': 0 }).end(() => {
    if (!request.complete) request.destroy()
  })
}

/** Bytes of the largest delivery that is read. An event is a pointer of some 400; longer is none of the service's. */
const maxDeliveryBytes = 64 * 1024

/**
 * Reads the body of a request, at most 64 KiB of it: one that announces more is not read at all, and of one that
 * announces nothing no more is kept.
 * @returns null if it is larger, or ended before all of it had come.
 */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const announced = request.headers['content-length']
  if (announced !== undefined && Number(announced) > maxDeliveryBytes) return null
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    // Leaving the loop must not cut the connection: the answer is still to be sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxDeliveryBytes) return null
      chunks.push(chunk)
    }
  } catch {
    // The client went away.
    return null
  }
  return request.complete ? Buffer.concat(chunks, bytes) : null
}
