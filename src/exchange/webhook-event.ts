import type { Contract } from './contract.ts'
import { indexedIdOf, instantOf, integerOf, objectOf, textOf } from './wire-value.ts'

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
