import type { z } from 'zod'
import type { Operation } from '../server/operation.ts'
import type { Components, JsonSchema } from './components.ts'

/** What the description says of an endpoint. Every operation says it of itself. */
export type Described = Omit<Operation, 'handle'> & {
  /** No API key is needed, and none is looked at. */
  open?: true
  /** The origin, when it is not the one where the rest is. */
  server?: string
}

/** Answers that operations have in common, as components of the document. */
export const commonAnswers = {
  400: { name: 'BadRequest', description: 'The body is no JSON, lacks a member, or has one of the wrong type.' },
  401: { name: 'Unauthorised', description: 'The API key is missing or unknown.' },
  413: { name: 'BodyTooLarge', description: 'The body is larger than this deployment takes.' },
  415: { name: 'ContentTypeUnsupported', description: 'The body is not application/json, or has a Content-Encoding.' },
  500: { name: 'InternalError', description: 'The request could not be handled.' },
  503: { name: 'Unavailable', description: 'The service cannot answer for the moment.' },
} as const

/** One operation object of the document. `error`: what errors are answered with, as it is referred to. */
export function describeOperation(operation: Described, components: Components, error: JsonSchema): JsonSchema {
  const { id, tag, summary, description, body, open, server, resultFile } = operation
  const parameters = [...pathParameters(operation.path), ...queryParameters(operation, components)]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(open && { security: [] }),
    ...(server !== undefined && { servers: [{ url: server }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(components.add(body, 'input')) } }),
    responses: responsesOf(operation, components, error),
    ...(resultFile && { 'x-result-file': components.add(resultFile, 'output') }),
  }
}

function responsesOf({ answers, body, open }: Described, components: Components, error: JsonSchema): JsonSchema {
  const responses: Record<string, JsonSchema> = {}
  const common = [
    ...(body ? ([400, 413, 415] as const) : []),
    ...(open ? [] : ([401] as const)),
    500 as const,
    503 as const,
  ]
  for (const status of common) responses[status] = { $ref: `#/components/responses/${commonAnswers[status].name}` }
  for (const [status, { description, schema }] of Object.entries(answers)) {
    const shown = schema ? components.add(schema, 'output') : Number(status) >= 400 && error
    responses[status] = { description, ...(shown && { content: json(shown) }) }
  }
  return responses
}

/** A body or an answer that is JSON. */
export function json(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } }
}

function pathParameters(path: string): JsonSchema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query = {} }: Described, components: Components): JsonSchema[] {
  return Object.entries(query).map(([name, schema]: [string, z.ZodType]) => ({
    name,
    in: 'query',
    ...(schema.description !== undefined && { description: schema.description }),
    required: !schema.safeParse(undefined).success,
    schema: components.add(schema, 'input'),
  }))
}
