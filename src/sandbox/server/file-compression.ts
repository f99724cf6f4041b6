import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { acceptsGzip } from './accepts-gzip.ts'

/** The bytes of an answer and, for when nobody changed them on the way, the same already compressed. */
type Prepared = { plain: Readable; gzipped: () => Readable }
const prepared = new WeakMap<FastifyRequest, Prepared>()

/** Offers a compressed form of what this request is answered with. */
export function offerGzipped(request: FastifyRequest, plain: Readable, gzipped: () => Readable): void {
  prepared.set(request, { plain, gzipped })
}

/**
 * Files are sent gzipped to whoever asks for it. Must be added after everything else that touches payloads: a payload
 * that is no longer the prepared one is compressed as it is, and one that was given a coding is left alone.
 */
export function compressFiles(server: FastifyInstance): void {
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
