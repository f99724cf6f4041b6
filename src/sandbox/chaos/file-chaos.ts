import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readFile } from '../files/read-file.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { acceptsGzip } from '../server/accepts-gzip.ts'
import { logRequest } from '../server/request-log.ts'
import { randomFrom } from './change-document.ts'
import { firstElement, withGuest, withShuffledKeys, withUnknownFieldsOnPage } from './change-pages.ts'
import { decompressionBomb } from './decompression-bomb.ts'
import { type FileFaults, type FileRefusal, findStruckFile, type StruckFile, strikeFile } from './file-faults.ts'
import { breakPage } from './page-cases/page-case.ts'
import { pageCases } from './page-cases/page-cases.ts'
import { joinParts, splitPage } from './page-pieces.ts'
import { sendCut, sendSlowly } from './send-broken.ts'
import { noteStrike } from './struck.ts'

type Struck = { file: StruckFile; faults: FileFaults }
const decided = new WeakMap<FastifyRequest, Struck>()

/**
 * Troubles the file server. To be added in front of what compresses files, and behind the log's hook or in front of it,
 * as one likes. Only addresses that are valid are struck. What happens when several profiles strike: file-faults.ts.
 */
export function addFileChaos(server: FastifyInstance, sandbox: Sandbox): void {
  const { chaos, pool, contract } = sandbox
  server.addHook('onRequest', async (request, reply) => {
    const { token } = (request.params ?? {}) as { token?: string }
    if (token === undefined || chaos.active().size === 0) return
    if (sandbox.files.judge(token, request.query as Record<string, unknown>) !== 'valid') return
    const file = await findStruckFile(pool, contract, token)
    if (!file) return
    const faults = strikeFile(chaos, file, isLoopback(request))
    for (const name of faults.struck) noteStrike(request, name)
    decided.set(request, { file, faults })
    if (faults.refusal === null) return
    const location = redirectOf(faults.refusal, request)
    await logRequest(sandbox, request, 302)
    reply.hijack()
    reply.raw.writeHead(302, { location, 'content-length': 0 }).end()
  })
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    const struck = decided.get(request)
    if (!struck || struck.faults.refusal || !(payload instanceof Readable)) return payload
    return recode(struck, request, reply, await rewrite(sandbox, struck, reply, payload))
  })
  server.addHook('onSend', (request, reply, payload: unknown, done) => {
    const struck = decided.get(request)
    const sending = struck?.faults.sending
    if (!struck || !sending || !(payload instanceof Readable)) return done(null, payload)
    // Whatever was taken over is not passed on: nobody else may write to the connection.
    void send(sandbox, struck.file, sending, reply, payload)
  })
}

/** Where a redirect leads. @throws {RequestRefused} for what is none. */
function redirectOf(refusal: FileRefusal, request: FastifyRequest): string {
  switch (refusal) {
    case 'expired':
      throw new RequestRefused(403, 'file_address_expired', 'The address has expired; the task has a fresh one.')
    case 'missing':
      throw new RequestRefused(404, 'file_not_found', 'There is no such file, or not any more.')
    case 'unknown-host':
      return `https://files.nowhere.invalid${request.url}`
    case 'private-address':
      return 'http://169.254.169.254/latest/meta-data/'
    case 'other-name':
      return `http://${otherName(request)}${request.url}`
  }
}

function isLoopback({ host }: FastifyRequest): boolean {
  return /^(127\.0\.0\.1|localhost)(:|$)/.test(host)
}

function otherName({ host }: FastifyRequest): string {
  return host.startsWith('localhost') ? host.replace('localhost', '127.0.0.1') : host.replace('127.0.0.1', 'localhost')
}

/** The file as the faults have it, or the payload as it was. What was changed has no known length any more. */
async function rewrite(
  { pool, contract }: Sandbox,
  { file, faults }: Struck,
  reply: FastifyReply,
  payload: Readable,
): Promise<Readable> {
  const { hasGuest, hasUnknownFields, shuffle, malformed } = faults
  if (!hasGuest && !hasUnknownFields && shuffle === null && malformed === null) return payload
  void reply.removeHeader('content-length')
  const names = contract.names.calculatorsPage
  let parts = splitPage(payload, file.list)
  if (hasGuest && file.neighbour !== null) {
    parts = withGuest(parts, await firstElement(splitPage(readFile(pool, file.neighbour), file.list)))
  }
  if (hasUnknownFields) {
    parts = withUnknownFieldsOnPage(parts, file.list, new Set([names.fields, names.inputs, names.outputs]))
  }
  if (shuffle !== null) parts = withShuffledKeys(parts, file.list, randomFrom(shuffle))
  if (malformed !== null) parts = breakPage(parts, pageCases[malformed], { list: file.list, names })
  return streamOf(joinParts(parts))
}

/** The bytes that are sent for the file, and the header that says, or does not say, how they are coded. */
function recode({ file, faults }: Struck, request: FastifyRequest, reply: FastifyReply, body: Readable): Readable {
  const { coding, sending } = faults
  switch (coding) {
    case 'bomb':
      body.destroy()
      void reply.removeHeader('content-length').header('content-encoding', 'gzip')
      return streamOf(decompressionBomb(file.list))
    case 'announced-only':
      void reply.header('content-encoding', 'gzip')
      return body
    case 'unannounced':
      void reply.removeHeader('content-length')
      doNotCompress(request)
      return zip(body)
    case null:
      break
  }
  const isCounted = sending?.how === 'length' || sending?.how === 'never' || sending?.how === 'slow'
  if (isCounted) doNotCompress(request)
  if (!sending || isCounted || !acceptsGzip(request.headers['accept-encoding'])) return body
  void reply.removeHeader('content-length').header('content-encoding', 'gzip')
  return zip(body)
}

/** Anyone who compresses files later on finds that the client did not ask for it. */
function doNotCompress(request: FastifyRequest): void {
  delete request.headers['accept-encoding']
}

/** At most this many bytes are kept back until it is known that they are the last. */
const mostMissingBytes = 64 * 1024

async function send(
  { clock }: Sandbox,
  file: StruckFile,
  { how, missing }: NonNullable<FileFaults['sending']>,
  reply: FastifyReply,
  body: Readable,
): Promise<void> {
  const counted = reply.getHeader('content-length')
  const bytes = counted === undefined ? null : Number(counted)
  if (how === 'slow') return sendSlowly({ reply, body, bytes }, clock)
  const most = Math.min(mostMissingBytes, Math.max(1, file.bytes - 1))
  return sendCut({ reply, body, bytes }, 1 + Math.floor(missing * most), how)
}

function streamOf(pieces: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(pieces, { objectMode: false })
}

function zip(body: Readable): Readable {
  const zipped = createGzip({ level: 1 })
  body.on('error', (error) => zipped.destroy(error))
  zipped.on('close', () => body.destroy())
  return body.pipe(zipped)
}
