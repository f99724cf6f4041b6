import type { Sandbox } from '../running-sandbox.ts'
import type { Operation } from '../server/operation.ts'
import type { JsonSchema } from './components.ts'
import { describeApi } from './describe-api.ts'
import { errorAnswer } from './error-answer.ts'
import { describesItself } from './serve-description.ts'

/** Where the description of the administration API is. */
export const administrationDescription = { method: 'GET', path: '/sandbox/openapi.json' } as const

const description = `What the service has a web application for (webhooks, reports, changes of applications), and what only a sandbox has (chaos, a log, a clock).

Any known API key will do; its profile decides whose webhooks, tasks and applications these are.`

const texts: Record<string, string> = {
  Webhooks: 'Receivers of events, and the log of what was sent to them.',
  Reports: 'What became of every row of an import.',
  Applications: 'Changes made by applicants, or in the web application.',
  Chaos: 'Trouble on demand.',
  Log: 'What the sandbox was asked, and what it did.',
  Clock: "The sandbox's time.",
  Description: 'This document.',
}

/** The OpenAPI description of the administration API. */
export function describeAdministration(sandbox: Sandbox, operations: readonly Operation[]): JsonSchema {
  const described = [...operations, describesItself(administrationDescription, 'Description')]
  const tags = [...new Set(described.map(({ tag }) => tag))]
  return describeApi({
    ...{ title: 'Sandbox of the Bulk Data Exchange Service: administration', description },
    server: sandbox.apiUrl(),
    tags: tags.map((name) => ({ name, description: texts[name] ?? name })),
    operations: described,
    error: errorAnswer(sandbox.contract),
  })
}
