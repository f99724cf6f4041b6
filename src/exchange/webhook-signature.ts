import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Contract } from './contract.ts'
import { indexedIdOf, instantOf, integerOf, objectOf, textOf } from './wire-value.ts'

/** What came with a delivery: the three headers' values, undefined where one is missing, and the body's bytes. */
export type SignedDelivery = {
  id: string | undefined
  timestamp: string | undefined
  signature: string | undefined
  /** As received, before any parsing. */
  body: Uint8Array
}

export type Verification =
  | { verified: true }
  | {
      verified: false
      /**
       * `no_v1_signature`: there are entries, but none of the version that we know. `signature_mismatch`: forged,
       * altered, or signed with a secret that is not ours.
       */
      reason:
        | 'header_missing'
        | 'id_malformed'
        | 'timestamp_malformed'
        | 'timestamp_too_old'
        | 'timestamp_too_new'
        | 'no_v1_signature'
        | 'signature_mismatch'
    }

type WebhookVerifier = (delivery: SignedDelivery) => Verification

/** A signing secret that no delivery may be trusted by. Never repeats the secret. */
export class WebhookSecretError extends Error {
  readonly code = 'webhook_secret_invalid'

  constructor(problem: string) {
    super(`${problem}. Use the secret as the service shows it, with its prefix ${prefix}`)
    this.name = 'WebhookSecretError'
  }
}

const prefix = 'whsec_'

/** Bytes. Standard Webhooks wants 24 to 64; below 16 a secret can be guessed. */
const shortestKey = 16

/**
 * Seconds, either way, inclusive (specification, Signature 4). Longer lets an overheard delivery be played back longer.
 */
const toleranceSeconds = 300

const version = 'v1,'

/** Characters of a SHA-256 in base64. */
const entryLength = 44

/**
 * Makes the verifier of deliveries signed by Standard Webhooks (specification, Events, Signature). It does no I/O and
 * throws nothing. During a rotation it knows the old and the new secret: one that fits is enough.
 * @param now milliseconds since 1970, of a clock that is right.
 * @throws {WebhookSecretError} when there is no secret, or one lacks the prefix, is not base64, or is too short.
 */
export function createWebhookVerifier(secrets: readonly string[], now: () => number): WebhookVerifier {
  if (secrets.length === 0) throw new WebhookSecretError('There is no webhook secret')
  const keys = secrets.map((secret, at) => keyOf(secret, secrets.length === 1 ? '' : ` ${at + 1}`))
  return ({ id, timestamp, signature, body }) => {
    if (id === undefined || timestamp === undefined || signature === undefined) return unverified('header_missing')
    // The parts of the signed content are joined by dots: a dot in the id could move the border between them.
    if (!/^[\x21-\x2d\x2f-\x7e]{1,256}$/.test(id)) return unverified('id_malformed')
    if (!/^\d{1,15}$/.test(timestamp)) return unverified('timestamp_malformed')
    const age = Math.floor(now() / 1000) - Number(timestamp)
    if (age > toleranceSeconds) return unverified('timestamp_too_old')
    if (age < -toleranceSeconds) return unverified('timestamp_too_new')
    const given = signature.split(' ').filter((entry) => entry.startsWith(version))
    if (given.length === 0) return unverified('no_v1_signature')
    const expected = keys.map((key) =>
      Buffer.from(createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64'), 'latin1'),
    )
    return anyEqual(given, expected) ? { verified: true } : unverified('signature_mismatch')
  }
}

/** Compares all with all, so that the time taken tells nothing of which fits or how far. */
function anyEqual(given: readonly string[], expected: readonly Buffer[]): boolean {
  let equal = 0
  for (const entry of given) {
    // The text, not what it decodes to: several texts decode to the same bytes.
    const bytes = Buffer.from(entry.slice(version.length), 'utf8')
    if (bytes.length !== entryLength) continue
    for (const signature of expected) equal |= Number(timingSafeEqual(bytes, signature))
  }
  return equal === 1
}

/** As a key object, which Node need not make again for each delivery: a fifth of the time. */
function keyOf(secret: string, which: string): KeyObject {
  if (!secret.startsWith(prefix)) throw new WebhookSecretError(`Webhook secret${which} does not begin with ${prefix}`)
  const text = secret.slice(prefix.length)
  const key = Buffer.from(text, 'base64')
  if (key.toString('base64') !== text) throw new WebhookSecretError(`Webhook secret${which} is not base64`)
  if (key.length < shortestKey)
    throw new WebhookSecretError(`Webhook secret${which} has fewer than ${shortestKey} bytes`)
  return createSecretKey(key)
}

function unverified(reason: Extract<Verification, { verified: false }>['reason']): Verification {
  return { verified: false, reason }
}

/** An event as the service describes it. A pointer: what it says of a task is no outcome. Specification: Envelope. */
export type WebhookEvent =
  | {
      what: 'bulk'
      topic: string
      recordedAt: Date | null
      correlationId: string
      /** Whether its topic is one of the four of tasks that ended. */
      ends: boolean
      status: string | null
      profileId: number | null
      apiKeyId: string | null
    }
  | {
      what: 'application'
      topic: string
      recordedAt: Date | null
      applicationId: string
      status: string | null
      profileId: number | null
    }
  | { what: 'test' | 'unknown_topic'; topic: string; recordedAt: Date | null }
  /** No JSON, no envelope, another event's id, or without an id of what it tells of that can be kept. */
  | { what: 'unreadable'; topic: string | null }

/**
 * Reads the body of a verified delivery. Throws nothing; unknown fields are ignored.
 * @param eventId the signed `webhook-id`, which the envelope must repeat.
 */
export function decodeWebhookEvent(contract: Contract, eventId: string, payload: string): WebhookEvent {
  const names = contract.names.webhookEvent
  const envelope = objectOf(parsed(payload))
  const topic = envelope === null ? null : textOf(envelope[names.type])
  if (envelope === null || topic === null) return { what: 'unreadable', topic: null }
  if (textOf(envelope[names.id])?.toLowerCase() !== eventId.toLowerCase()) return { what: 'unreadable', topic }
  const { test, applicationStatusChanged, applicationAnswersChanged, ...bulk } = contract.webhookTopics
  const recordedAt = instantOf(envelope[names.timestamp])
  if (topic === test) return { what: 'test', topic, recordedAt }
  const data = objectOf(envelope[names.data]) ?? {}
  if (Object.values(bulk).includes(topic)) {
    const fields = contract.names.bulkEvent
    const correlationId = indexedIdOf(data[fields.correlationId])
    if (correlationId === null) return { what: 'unreadable', topic }
    return {
      what: 'bulk',
      topic,
      recordedAt,
      correlationId,
      ends: [bulk.success, bulk.partialSuccess, bulk.error, bulk.cancelled].includes(topic),
      status: textOf(data[fields.status]),
      profileId: integerOf(data[fields.profileId]),
      apiKeyId: textOf(data[fields.apiKeyId]),
    }
  }
  if (topic === applicationStatusChanged || topic === applicationAnswersChanged) {
    const fields = contract.names.applicationEvent
    const applicationId = indexedIdOf(data[fields.applicationId])
    if (applicationId === null) return { what: 'unreadable', topic }
    const status = topic === applicationStatusChanged ? textOf(data[fields.status]) : null
    return {
      what: 'application',
      topic,
      recordedAt,
      applicationId,
      status,
      profileId: integerOf(data[fields.profileId]),
    }
  }
  return { what: 'unknown_topic', topic, recordedAt }
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    return null
  }
}
