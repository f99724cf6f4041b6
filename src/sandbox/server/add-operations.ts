import type { FastifyInstance } from 'fastify'
import type { Sandbox } from '../running-sandbox.ts'
import { authenticate } from './authenticate.ts'
import type { Operation } from './operation.ts'
import { requirePlainBody } from './require-plain-body.ts'
import { routePath } from './route-path.ts'

const noBytes = Buffer.alloc(0)

/** Registers operations. The key is checked before the body is read, and the body before anything is done. */
export function addOperations(server: FastifyInstance, sandbox: Sandbox, operations: readonly Operation[]): void {
  for (const operation of operations) {
    server.route<{ Params: Record<string, string>; Querystring: Record<string, string> }>({
      method: operation.method,
      url: routePath(operation.path),
      onRequest: async (request, reply) => {
        authenticate(sandbox, request)
        if (operation.body) requirePlainBody(request, reply)
      },
      handler: async (request, reply) =>
        operation.handle({
          apiKey: authenticate(sandbox, request),
          params: request.params,
          query: request.query,
          bytes: Buffer.isBuffer(request.body) ? request.body : noBytes,
          request,
          reply,
        }),
    })
  }
}
