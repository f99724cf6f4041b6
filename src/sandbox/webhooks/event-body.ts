import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import type { TaskStatus } from '../tasks/sandbox-task.ts'

/** What an event tells: its topic, the task or application that it is about, and the envelope's data. */
export type EventContent = { type: string; about: string; data: Record<string, unknown> }

/** A bulk request whose task reached a status. */
export type TaskEvent = {
  correlationId: string
  request: BulkRequest
  status: TaskStatus
  profileId: number
  apiKeyId: string
}

/** A certification application that moved. `status` is as on the wire; null with changed answers. */
export type ApplicationEvent = {
  applicationId: string
  profileId: number
  change: 'status' | 'answers'
  status: string | null
}

/** Specification, Events, bulk event data. Pure. */
export function taskEventContent(contract: Contract, event: TaskEvent): EventContent {
  const names = contract.names.bulkEvent
  const { kind, requestType } = contract.taskNames[event.request]
  return {
    type: contract.webhookTopics[event.status],
    about: event.correlationId,
    data: {
      [names.correlationId]: event.correlationId,
      [names.taskKind]: kind,
      [names.requestType]: requestType === '' ? null : requestType,
      [names.status]: contract.taskStatuses[event.status],
      [names.profileId]: event.profileId,
      [names.apiKeyId]: event.apiKeyId,
    },
  }
}

/** Specification, Events, application event data. Pure. */
export function applicationEventContent(contract: Contract, event: ApplicationEvent): EventContent {
  const names = contract.names.applicationEvent
  const { applicationStatusChanged, applicationAnswersChanged } = contract.webhookTopics
  return {
    type: event.change === 'status' ? applicationStatusChanged : applicationAnswersChanged,
    about: event.applicationId,
    data: {
      [names.applicationId]: event.applicationId,
      [names.status]: event.change === 'status' ? event.status : null,
      [names.profileId]: event.profileId,
    },
  }
}

/** What the Test button sends: the correlation id is the event's own, and the rest is null. Pure. */
export function testEventContent(contract: Contract, eventId: string): EventContent {
  const names = contract.names.bulkEvent
  return {
    type: contract.webhookTopics.test,
    about: eventId,
    data: {
      [names.correlationId]: eventId,
      [names.taskKind]: null,
      [names.requestType]: null,
      [names.status]: testStatus,
      [names.profileId]: null,
      [names.apiKeyId]: null,
    },
  }
}

const testStatus = 'Test'

/** The envelope as the bytes that every attempt sends and signs. Pure. */
export function envelopeBytes(contract: Contract, event: { id: string; at: Date; content: EventContent }): Buffer {
  const names = contract.names.webhookEvent
  const envelope = {
    [names.id]: event.id,
    [names.type]: event.content.type,
    [names.timestamp]: event.at.toISOString(),
    [names.data]: event.content.data,
  }
  return Buffer.from(JSON.stringify(envelope), 'utf8')
}
