/** The sender of bench/webhooks.ts: a thread that signs events as the service would, and measures the answers. */
import { createHmac, createSecretKey, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Pool } from 'undici'

export type Load = {
  url: string
  secret: string
  topic: string
  correlationIds: readonly string[]
  seconds: number
  /** Deliveries a second; null: each connection sends the next when it has its answer. */
  rate: number | null
}

export type Sent = { answered: number; refused: number; perSecond: number; p50: number; p99: number; max: number }

const connections = 256

/** Deliveries that are due together are sent together. Milliseconds. */
const tickMs = 5

const { url, secret, topic, correlationIds, seconds, rate } = workerData as Load
const key = createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'))
const { origin, pathname } = new URL(url)
const pool = new Pool(origin, { connections, pipelining: 1 })
const waits: number[] = []
let refused = 0

async function deliver(due: number): Promise<void> {
  const id = randomUUID()
  const correlationId = correlationIds[waits.length % correlationIds.length]
  const data = {
    correlationId,
    taskKind: 'BulkProcessingRequest',
    requestType: null,
    status: 'Success',
    profileId: 1,
    apiKeyId: id,
  }
  const body = JSON.stringify({ id, type: topic, timestamp: new Date().toISOString(), data })
  const at = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': `v1,${signature}`,
  }
  const answer = await pool.request({ path: pathname, method: 'POST', headers, body })
  await answer.body.dump()
  if (answer.statusCode === 204) waits.push(performance.now() - due)
  else refused += 1
}

const began = performance.now()
const endsAt = began + seconds * 1000
const underWay: Promise<void>[] = []
if (rate === null) {
  const worker = async () => {
    while (performance.now() < endsAt) await deliver(performance.now())
  }
  await Promise.all(Array.from({ length: connections }, worker))
} else {
  for (let sent = 0; ; ) {
    const now = performance.now()
    for (; began + (sent * 1000) / rate <= now && sent < rate * seconds; sent++) {
      underWay.push(deliver(began + (sent * 1000) / rate))
    }
    if (sent >= rate * seconds) break
    await delay(tickMs)
  }
  await Promise.all(underWay)
}
const took = performance.now() - began
await pool.close()
waits.sort((a, b) => a - b)
const at = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0
const sent: Sent = {
  answered: waits.length,
  refused,
  perSecond: (waits.length * 1000) / took,
  p50: at(0.5),
  p99: at(0.99),
  max: at(1),
}
parentPort?.postMessage(sent)
