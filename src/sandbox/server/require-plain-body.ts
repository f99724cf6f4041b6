import type { FastifyReply, FastifyRequest } from 'fastify'
import { RequestRefused } from '../request-refused.ts'

/**
 * Bodies are read as they come. One in a content coding would be told as no JSON, which says nothing of the cause. The
 * answer names the one coding that is taken, as RFC 9110 has it (15.5.16).
 * @throws {RequestRefused} 415 for a body in a content coding.
 */
export function requirePlainBody(request: FastifyRequest, reply: FastifyReply): void {
  const coding = (request.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (coding === '' || coding === 'identity') return
  void reply.header('accept-encoding', 'identity')
  throw new RequestRefused(415, 'content_coding_unsupported', 'The body must come without a Content-Encoding.')
}
