import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { findFile, readFile } from '../files/read-file.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../sandbox.ts'

/** Result files. The token in the address is the permission, as in a signed URL: no key is needed, and none is read. */
export function addFileRoutes(server: FastifyInstance, { pool, logger }: Sandbox): void {
  server.get<{ Params: { token: string } }>('/files/:token', async (request, reply) => {
    const { token } = request.params
    const file = /^[\w-]{43}$/.test(token) ? await findFile(pool, token) : null
    if (!file) throw new RequestRefused(404, 'file_not_found', 'There is no such file.')
    const body = Readable.from(readFile(pool, token), { objectMode: false })
    body.on('error', (error) => logger.warn({ err: error }, 'sandbox_file_cut_short'))
    void reply.header('content-type', 'application/json; charset=utf-8').header('vary', 'accept-encoding')
    if (!acceptsGzip(request.headers['accept-encoding'])) {
      return reply.header('content-length', file.bytes).send(body)
    }
    const zipped = createGzip({ level: 1 })
    body.on('error', (error) => zipped.destroy(error))
    zipped.on('close', () => body.destroy())
    return reply.header('content-encoding', 'gzip').send(body.pipe(zipped))
  })
}

/** Whether `gzip` is named in the header, and not with the weight 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .map((coding) =>
      coding
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/),
    )
    .some(([coding, weight]) => coding === 'gzip' && !/^q=0(\.0*)?$/.test(weight ?? ''))
}
