import { Agent, type Dispatcher, request } from 'undici'
import { storable } from '../storable-text.ts'
import { judgeUrl, pinnedLookup, TargetRefused } from './judge-target.ts'
import type { WebhookOutlet } from './outlet.ts'

/** What one attempt came to. `error` says why there is no usable answer; a receiver that answered badly has none. */
export type Attempt = {
  httpStatus: number | null
  error: string | null
  latencyMs: number
  responseExcerpt: string | null
}

/** From the attempt's beginning until the head of the answer is there; specification, Delivery and retries. */
const deadlineMs = 10_000

/** How much of the answer's body the log shows, and how long it is waited for; the body decides nothing. */
const excerptBytes = 1024
const excerptMs = 1000

/** What is shorter is no secret, and could stand in an answer by chance. */
const shortestSecret = 8

/**
 * Connections for deliveries. Each attempt opens its own, so that the addresses of the host are judged each time, and
 * it goes to a judged one.
 */
export function createDeliveryAgent(outlet: WebhookOutlet): Agent {
  const connect = { lookup: pinnedLookup(outlet), timeout: deadlineMs, allowH2: false }
  return new Agent({ connect, pipelining: 0, headersTimeout: 0, bodyTimeout: 0 })
}

/** Any 2xx succeeds; a redirect is not followed and is a failure like any other answer. */
export function hasSucceeded({ httpStatus }: Attempt): boolean {
  return httpStatus !== null && httpStatus >= 200 && httpStatus < 300
}

/**
 * Sends a delivery once. `secret` is a header's value that nobody may read again, not even from what the receiver
 * answers.
 * @returns null when the signal ended it: whether it arrived is then unknown.
 */
export async function sendDelivery(
  delivery: { url: string; headers: Record<string, string>; body: Buffer; secret: string | null },
  { agent, allowInsecure, signal }: { agent: Agent; allowInsecure: boolean; signal: AbortSignal },
): Promise<Attempt | null> {
  const began = performance.now()
  const latencyMs = () => Math.round(performance.now() - began)
  try {
    const url = judgeUrl(delivery.url, allowInsecure)
    const answer = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: delivery.headers,
      body: delivery.body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    })
    const latency = latencyMs()
    const { statusCode, body } = answer
    const error = statusCode >= 300 && statusCode < 400 ? 'Redirects are not followed.' : null
    return {
      httpStatus: statusCode,
      error,
      latencyMs: latency,
      responseExcerpt: await readExcerpt(body, delivery.secret ?? ''),
    }
  } catch (error) {
    if (signal.aborted) return null
    return { httpStatus: null, error: reasonOf(error), latencyMs: latencyMs(), responseExcerpt: null }
  }
}

async function readExcerpt(body: Dispatcher.ResponseData['body'], secret: string): Promise<string | null> {
  // So much more that a secret at the excerpt's end is seen whole.
  const enough = excerptBytes + secret.length
  const chunks: Buffer[] = []
  let bytes = 0
  body.on('error', () => undefined)
  const timer = setTimeout(() => body.destroy(), excerptMs)
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= enough) break
    }
  } catch {
    // The answer's head has decided: a body that breaks off changes nothing.
  } finally {
    clearTimeout(timer)
    body.destroy()
  }
  if (bytes === 0) return null
  const text = Buffer.concat(chunks).subarray(0, enough).toString('utf8')
  const shown = secret.length < shortestSecret ? text : text.replaceAll(secret, '*'.repeat(secret.length))
  return storable(Buffer.from(shown, 'utf8').subarray(0, excerptBytes).toString('utf8'))
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The attempt failed.'
  if (error.name === 'TimeoutError') return `There was no answer within ${deadlineMs / 1000} seconds.`
  const refused = error instanceof TargetRefused ? error : error.cause instanceof TargetRefused ? error.cause : null
  if (refused) return refused.message
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  return storable([code, error.message].filter((part) => part !== null && part !== '').join(': '))
}
