import type { FastifyInstance, FastifyRequest } from 'fastify'
import { strikesOn } from '../chaos/struck.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { storable } from '../storable-text.ts'
import { profileOf } from './authenticate.ts'
import { pathOf } from './route-path.ts'

const queued = new WeakSet<FastifyRequest>()

/** A queued request is in the log already: its line was written with its task. */
export function isLogged(request: FastifyRequest): void {
  queued.add(request)
}

/**
 * Writes a line for every answered request that did not become a task: what the service answered, even where chaos lets
 * something else arrive. Reading the administration API leaves no line, or the log would grow with each look at it.
 */
export function logRequests(server: FastifyInstance, sandbox: Sandbox): void {
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    const isLook = request.method === 'GET' && request.url.startsWith('/sandbox/')
    if (!queued.has(request) && !isLook) await logRequest(sandbox, request, reply.statusCode)
    return payload
  })
}

/** Writes a request's line; `httpStatus` null: it got no answer. Losing a line is a warning, not a failed request. */
export async function logRequest(sandbox: Sandbox, request: FastifyRequest, httpStatus: number | null): Promise<void> {
  const { pool, clock, logger } = sandbox
  const { correlationId, token } = (request.params ?? {}) as { correlationId?: string; token?: string }
  try {
    await pool.query(
      `insert into sandbox.request_log
         (at, profile_id, method, path, http_status, correlation_id, phase, key_sent, chaos)
       values ($1, $2, $3, $4, $5,
         coalesce((select id from sandbox.task where id = $6::uuid),
           (select task_id from sandbox.file where token = $7)),
         'received', $8, $9)`,
      [
        new Date(clock.now()),
        profileOf(sandbox, request),
        request.method,
        storable(pathOf(request.url)),
        httpStatus,
        isUuid(correlationId) ? correlationId : null,
        token === undefined ? null : storable(token),
        request.headers.authorization !== undefined,
        strikesOn(request),
      ],
    )
  } catch (error) {
    logger.warn({ err: error }, 'sandbox_request_not_logged')
  }
}
