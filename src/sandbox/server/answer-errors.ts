import type { FastifyInstance } from 'fastify'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { pathOf } from './route-path.ts'

/** Every error of this server is answered with an errorCode and a message (specification, Errors). */
export function answerErrors(
  server: FastifyInstance,
  { contract, logger }: Pick<Sandbox, 'contract' | 'logger'>,
  maxBodyBytes: number,
): void {
  const names = contract.names.error
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const refusal = asRefusal(error, maxBodyBytes)
    if (refusal.status >= 500) logger.error({ err: error, path: pathOf(request.url) }, 'sandbox_request_failed')
    void reply.code(refusal.status).send({ [names.errorCode]: refusal.code, [names.message]: refusal.message })
  })
  server.setNotFoundHandler((request, reply) => {
    const message = `There is no ${request.method} ${pathOf(request.url)}.`
    void reply.code(404).send({ [names.errorCode]: 'endpoint_not_found', [names.message]: message })
  })
}

function asRefusal(
  error: Error & { statusCode?: number },
  maxBodyBytes: number,
): { status: number; code: string; message: string } {
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
