import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import type { Sandbox } from '../running-sandbox.ts'
import type { Operation } from '../server/operation.ts'
import type { JsonSchema } from './components.ts'
import { type DescribedEvent, describeApi } from './describe-api.ts'
import type { Described } from './describe-operation.ts'
import { errorAnswer } from './error-answer.ts'
import { pages } from './pages.ts'
import { resultFiles } from './result-files.ts'
import { describesItself } from './serve-description.ts'
import { webhookEvents } from './webhook-events.ts'

const description = `Exchanges sustainability data about companies, such as hotels, in volume.

1. Submit a body to a bulk endpoint; it is queued, and the answer carries a correlation id.
2. Poll the task with this id until its status is terminal. A webhook can tell of each change instead.
3. Read the result: page addresses of a search, one file of a company mapping or a calculator upsert, and the failed rows of the other imports.

Clients ignore fields, and treat error codes, that they do not know: both can appear without a new version.`

const tags = [
  { name: 'Bulk requests', description: 'Queued; answered with a correlation id.' },
  { name: 'Tasks', description: 'What becomes of bulk requests.' },
  { name: 'Result files', description: 'What finished tasks point to.' },
  { name: 'Reference data', description: 'The ids that requests are made of; answered at once.' },
  { name: 'Applications', description: 'Certification applications of certifiers.' },
  { name: 'Description', description: 'This document.' },
]

/**
 * The OpenAPI description of the service, with its webhooks and result files. Deprecated endpoints answer as before and
 * are no longer documented (specification, Versioning).
 */
export function describeService(sandbox: Sandbox, operations: readonly Operation[]): JsonSchema {
  const { contract } = sandbox
  return describeApi({
    ...{ title: 'Bulk Data Exchange Service', description, tags },
    server: sandbox.apiUrl(),
    operations: [
      ...operations.filter(({ deprecated }) => !deprecated),
      resultFile(sandbox),
      describesItself(contract.otherEndpoints.description, 'Description'),
    ],
    events: serviceEvents(contract),
    error: errorAnswer(contract),
  })
}

/** Result files are on an origin of their own, where there are no operations. */
function resultFile({ contract, fileUrl }: Sandbox): Described {
  const [server = ''] = fileUrl('').split('/files/')
  const documents = [...Object.values(pages(contract)), ...Object.values(resultFiles(contract))]
  return {
    ...{ id: 'readResultFile', method: 'GET', path: '/files/{fileId}', tag: 'Result files', open: true, server },
    summary: 'A result file',
    description:
      'The signed address, as the task gives it, is the permission: send no API key. It expires; reading the task ' +
      'again gives a fresh one. Which document it is depends on the request: see x-result-file there.',
    query: {
      expires: z.string().meta({ description: 'Unix seconds.' }),
      signature: z.string(),
    },
    answers: {
      200: {
        description: 'One complete document, compressed when the request accepts it.',
        schema: z.union(documents),
      },
      403: { description: 'The address has expired, or was altered.' },
      404: { description: 'There is no such file, or not any more.' },
    },
  }
}

/** What the service sends to webhooks (specification, Events). */
function serviceEvents(contract: Contract): Record<'bulkEvent' | 'applicationEvent' | 'testEvent', DescribedEvent> {
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
