import fastify, { type FastifyInstance } from 'fastify'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../sandbox.ts'
import { addOperations } from './add-operations.ts'
import { bulkOperations } from './bulk-operations.ts'
import { addFileRoutes } from './file-routes.ts'
import { referenceOperations } from './reference-operations.ts'
import { logRequests } from './request-log.ts'
import { pathOf } from './route-path.ts'
import { taskOperations } from './task-operations.ts'

/** The specification has no hard limit; above this, one body and its parsed form would endanger the process. */
const maxBodyBytes = 256 * 1024 * 1024

export type ServerOptions = {
  /** A request was queued. */
  onQueued: () => void
}

/** The service over HTTP: every answer but a file's is JSON, every error carries an errorCode and a message. */
export function buildServer(sandbox: Sandbox, options: ServerOptions): FastifyInstance {
  const server = fastify({ bodyLimit: maxBodyBytes, forceCloseConnections: true, exposeHeadRoutes: false })
  const names = sandbox.contract.names.error
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const refusal = asRefusal(error)
    if (refusal.status >= 500) sandbox.logger.error({ err: error, url: request.url }, 'sandbox_request_failed')
    void reply.code(refusal.status).send({ [names.errorCode]: refusal.code, [names.message]: refusal.message })
  })
  server.setNotFoundHandler((request, reply) => {
    const message = `There is no ${request.method} ${pathOf(request.url)}.`
    void reply.code(404).send({ [names.errorCode]: 'endpoint_not_found', [names.message]: message })
  })
  logRequests(server, sandbox)
  addOperations(server, [
    ...referenceOperations(sandbox),
    ...bulkOperations(sandbox, options.onQueued),
    ...taskOperations(sandbox),
  ])
  addFileRoutes(server, sandbox)
  return server
}

function asRefusal(error: Error & { statusCode?: number }): { status: number; code: string; message: string } {
  if (error instanceof RequestRefused) return error
  switch (error.statusCode) {
    case 413:
      return { status: 413, code: 'body_too_large', message: `The body is larger than ${maxBodyBytes} bytes.` }
    case 415:
      return { status: 415, code: 'content_type_unsupported', message: 'The body must be application/json.' }
    case 400:
      return { status: 400, code: 'request_malformed', message: 'The request is malformed.' }
    default:
      return { status: 500, code: 'internal_error', message: 'The request could not be handled.' }
  }
}
