import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Endpoint } from '../../exchange/contract.ts'
import { routePath } from '../server/route-path.ts'
import type { JsonSchema } from './components.ts'
import type { Described } from './describe-operation.ts'

type Place = Pick<Endpoint, 'method' | 'path'>

/** What a description says of itself. */
export function describesItself({ method, path }: Place, tag: string): Described {
  const document = z.looseObject({ openapi: z.string() })
  return {
    ...{ id: 'readDescription', method, path, tag, open: true },
    summary: 'This description',
    answers: { 200: { description: 'An OpenAPI 3.1 document.', schema: document } },
  }
}

/** Serves a description, without a key. It is made when it is first asked for: then the addresses are known. */
export function serveDescription(server: FastifyInstance, { method, path }: Place, describe: () => JsonSchema): void {
  let made: JsonSchema | undefined
  server.route({
    method,
    url: routePath(path),
    handler: () => {
      made ??= describe()
      return made
    },
  })
}
