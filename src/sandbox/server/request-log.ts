import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sandbox } from '../sandbox.ts'
import { storable } from '../storable.ts'
import { profileOf } from './authenticate.ts'

const queued = new WeakSet<FastifyRequest>()

/** A queued request is in the log already: its line was written with its task. */
export function isLogged(request: FastifyRequest): void {
  queued.add(request)
}

/** Writes a line for every answered request that did not become a task. Losing one is a warning, not a failed request. */
export function logRequests(server: FastifyInstance, sandbox: Sandbox): void {
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    if (!queued.has(request)) await writeLine(sandbox, request, reply)
    return payload
  })
}

async function writeLine({ pool, clock, logger }: Sandbox, request: FastifyRequest, reply: FastifyReply) {
  const params = request.params as { correlationId?: string } | undefined
  const correlationId = params?.correlationId ?? null
  try {
    await pool.query(
      `insert into sandbox.request_log (at, profile_id, method, path, http_status, correlation_id, phase)
       values ($1, $2, $3, $4, $5, (select id from sandbox.task where id::text = $6), 'received')`,
      [
        new Date(clock.now()),
        profileOf(request),
        request.method,
        storable(loggedPath(request)),
        reply.statusCode,
        correlationId === null ? null : storable(correlationId),
      ],
    )
  } catch (error) {
    logger.warn({ err: error }, 'sandbox_request_not_logged')
  }
}

/** Without the query, and without the token of a file: the log must not open what the token protects. */
function loggedPath(request: FastifyRequest): string {
  const path = request.url.split('?', 1)[0] ?? request.url
  return path.startsWith('/files/') ? '/files/…' : path
}
