import type { FastifyInstance } from 'fastify'
import { RequestRefused } from '../request-refused.ts'

/** Node itself would answer a request without a Host header, and without a body. */
export const answeredWithoutHost = { requireHostHeader: false } as const

/** Refuses a request of HTTP/1.1 without a Host header, as HTTP demands, with a body like every other error. */
export function requireHost(server: FastifyInstance): void {
  server.addHook('onRequest', async ({ headers, raw }) => {
    if (headers.host !== undefined || raw.httpVersion === '1.0') return
    throw new RequestRefused(400, 'host_missing', 'The request has no Host header.')
  })
}
