import type { z } from 'zod'
import { createComponents, type JsonSchema } from './components.ts'
import { commonAnswers, type Described, describeOperation, json } from './describe-operation.ts'

/** An event that the service sends to its receivers. */
export type DescribedEvent = {
  summary: string
  description: string
  schema: z.ZodType
  headers: readonly EventHeader[]
}
type EventHeader = { name: string; description: string }

type Api = {
  title: string
  description: string
  /** Where it is served. */
  server: string
  tags: readonly { name: string; description: string }[]
  operations: readonly Described[]
  events?: Readonly<Record<string, DescribedEvent>>
  /** What errors are answered with. */
  error: z.ZodType
}

/** The OpenAPI 3.1 document of an API: what is published comes from what the server registers. */
export function describeApi(api: Api): JsonSchema {
  const components = createComponents()
  const error = components.add(api.error, 'output')
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const operation of api.operations) {
    const item = paths[operation.path] ?? {}
    item[operation.method.toLowerCase()] = describeOperation(operation, components, error)
    paths[operation.path] = item
  }
  const webhooks = Object.entries(api.events ?? {}).map(([name, event]) => [
    name,
    { post: describeEvent(name, event, components.add(event.schema, 'output')) },
  ])
  return {
    openapi: '3.1.1',
    info: {
      title: api.title,
      // The version is in each path; this one only satisfies the format.
      version: '1',
      description: api.description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: api.server }],
    security: [{ apiKey: [] }],
    tags: api.tags.filter(({ name }) => api.operations.some(({ tag }) => tag === name)),
    paths,
    ...(webhooks.length > 0 && { webhooks: Object.fromEntries(webhooks) }),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The key itself, without a scheme.',
        },
      },
      schemas: components.all(),
      responses: Object.fromEntries(
        Object.values(commonAnswers).map(({ name, description }) => [name, { description, content: json(error) }]),
      ),
    },
  }
}

function describeEvent(
  name: string,
  { summary, description, headers }: DescribedEvent,
  schema: JsonSchema,
): JsonSchema {
  return {
    operationId: name,
    summary,
    description,
    security: [],
    parameters: headers.map((header) => ({ ...header, in: 'header', required: true, schema: { type: 'string' } })),
    requestBody: { required: true, content: json(schema) },
    responses: {
      '2XX': { description: 'Received. Anything else, and nothing within ten seconds, is a failure and sent again.' },
    },
  }
}
