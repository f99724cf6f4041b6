import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { addFileChaos } from '../chaos/file-chaos.ts'
import { findFile, readFile, readGzipped } from '../files/read-file.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { acceptsGzip } from './accepts-gzip.ts'
import { answerErrors } from './answer-errors.ts'
import { logRequests } from './request-log.ts'
import { answeredWithoutHost, requireHost } from './require-host.ts'
import { answerUnexpected, unroutableErrors } from './unroutable-errors.ts'

/** Nobody sends a body here. */
const maxBodyBytes = 1024

/**
 * Result files, on an origin of their own. The signed address is the permission: no key is needed and none is judged,
 * but the request log keeps whether one came, because a key has no business here.
 */
export function buildFileServer(sandbox: Sandbox): FastifyInstance {
  const { pool, logger, files } = sandbox
  const server = fastify({
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    http: answeredWithoutHost,
    exposeHeadRoutes: false,
    ...unroutableErrors(sandbox),
  })
  answerErrors(server, sandbox, maxBodyBytes)
  answerUnexpected(server, sandbox)
  requireHost(server)
  logRequests(server, sandbox)
  addFileChaos(server, sandbox)
  compressFiles(server)
  server.get<{ Params: { token: string }; Querystring: Record<string, unknown> }>(
    '/files/:token',
    async (request, reply) => {
      const { token } = request.params
      refuse(files.judge(token, request.query))
      const file = await findFile(pool, token)
      if (!file) throw new RequestRefused(404, 'file_not_found', 'There is no such file, or not any more.')
      const streamed = (bytes: AsyncGenerator<Buffer>) =>
        Readable.from(bytes, { objectMode: false }).on('error', (error) =>
          logger.warn({ err: error }, 'sandbox_file_cut_short'),
        )
      const body = streamed(readFile(pool, token))
      offerGzipped(request, body, () => streamed(readGzipped(pool, file)))
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .header('vary', 'accept-encoding')
        .header('content-length', file.bytes)
        .send(body)
    },
  )
  return server
}

/** Spec gap: the answers to an address that is no longer, or was never, valid are not shown, docs/spec-gaps.md. */
function refuse(judged: ReturnType<Sandbox['files']['judge']>): void {
  switch (judged) {
    case 'valid':
      return
    case 'expired':
      throw new RequestRefused(403, 'file_address_expired', 'The address has expired; the task has a fresh one.')
    case 'forged':
      throw new RequestRefused(403, 'file_address_invalid', 'The address does not bear a valid signature.')
  }
}

/** The bytes of an answer and, for when nobody changed them on the way, the same already compressed. */
type Prepared = { plain: Readable; gzipped: () => Readable }
const prepared = new WeakMap<FastifyRequest, Prepared>()

/** Offers a compressed form of what this request is answered with. */
function offerGzipped(request: FastifyRequest, plain: Readable, gzipped: () => Readable): void {
  prepared.set(request, { plain, gzipped })
}

/**
 * Files are sent gzipped to anyone who asks for it. Must be added after everything else that touches payloads: a
 * payload that is no longer the prepared one is compressed as it is, and one that was given a coding is left alone.
 */
function compressFiles(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    if (!(payload instanceof Readable) || reply.hasHeader('content-encoding')) return payload
    if (!acceptsGzip(request.headers['accept-encoding'])) return payload
    void reply.removeHeader('content-length').header('content-encoding', 'gzip')
    const offered = prepared.get(request)
    if (offered?.plain !== payload) return zip(payload)
    payload.destroy()
    return offered.gzipped()
  })
}

function zip(payload: Readable): Readable {
  const zipped = createGzip({ level: 1 })
  payload.on('error', (error) => zipped.destroy(error))
  zipped.on('close', () => payload.destroy())
  return payload.pipe(zipped)
}
