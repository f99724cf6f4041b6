import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { Access } from '../may-enter.ts'
import { Plain, type Route, route } from '../route.ts'
import { actionRoutes } from './action-routes.ts'
import { againRoutes } from './again-routes.ts'
import { hotelRoutes } from './hotel-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { nightRoutes } from './night-routes.ts'
import { runRoutes } from './run-routes.ts'
import { searchRoutes, serviceRoutes } from './service-routes.ts'
import { healthRoutes, standingRoutes } from './standing-routes.ts'
import { valueRoutes } from './value-routes.ts'

/**
 * Every route of the API.
 * @param describe writes the description of the routes, itself among them; called once, when somebody asks for it.
 */
export function allRoutes(describe: (routes: readonly Route[]) => object): readonly Route[] {
  let description: string | undefined
  const routes: Route[] = [
    ...healthRoutes,
    ...nightRoutes,
    ...runRoutes,
    ...ledgerRoutes,
    ...valueRoutes,
    ...searchRoutes,
    ...serviceRoutes,
    ...standingRoutes,
    ...actionRoutes,
    ...againRoutes,
    ...hotelRoutes,
    route({
      id: 'describe',
      method: 'GET',
      path: '/openapi.json',
      summary: 'This description, in OpenAPI 3.1',
      access: 'open',
      answers: { 200: 'application/json' },
      handle: () => {
        description ??= JSON.stringify(describe(routes))
        return new Plain('application/json; charset=utf-8', description)
      },
    }),
  ]
  return routes
}

const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string().describe('Stable; docs/errors.md lists them.'),
    detail: z.string().describe('What happened, and what to do.'),
  })
  .describe('Why a request was not answered as it was meant (RFC 9457).')

const words: Record<Access, string> = {
  open: 'Needs no token.',
  metrics: 'Needs a token unless the API listens on loopback alone.',
  read: 'Needs `http.token` or `http.readToken`.',
  act: 'Needs `http.token`.',
}

/** The API in OpenAPI 3.1, written from the routes themselves. */
export function describeRoutes(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Nightferry',
      version,
      description: 'What the verbs show and do, over HTTP, with health checks and metrics.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: jsonSchema(problem) },
    },
    paths,
  }
}

function operationOf(route: Route): object {
  const answers = Object.entries(route.answers).map(([status, schema]) => [status, answerOf(Number(status), schema)])
  return {
    operationId: route.id,
    summary: route.summary,
    description: words[route.access],
    security: route.access === 'open' ? [] : route.access === 'metrics' ? [{}, { token: [] }] : [{ token: [] }],
    parameters: [...parametersOf('path', route.params), ...parametersOf('query', route.query)],
    ...(route.body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(route.body, 'input') } } },
    }),
    responses: {
      ...Object.fromEntries(answers),
      default: {
        description: 'A problem',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function answerOf(status: number, schema: z.ZodType | string): object {
  const content =
    typeof schema === 'string'
      ? { [schema]: { schema: { type: 'string' } } }
      : { 'application/json': { schema: jsonSchema(schema) } }
  return { description: STATUS_CODES[status] ?? 'Answer', content }
}

function parametersOf(where: 'path' | 'query', schema: z.ZodType | undefined): object[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }))
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output' = 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' })
  return rest
}
