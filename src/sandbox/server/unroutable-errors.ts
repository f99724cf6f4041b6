import type { Duplex } from 'node:stream'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sandbox } from '../running-sandbox.ts'
import { logRequest } from './request-log.ts'

/** Longer than any path can be: an id of any length is asked for like another, and is nobody's. */
const maxParamLength = 64 * 1024

/** How a server answers what never reaches a route, with an errorCode and a message like every other error. */
export function unroutableErrors(sandbox: Sandbox) {
  const { errorCode, message } = sandbox.contract.names.error
  const malformed = { [errorCode]: 'request_malformed', [message]: 'The request is malformed.' }
  return {
    routerOptions: { maxParamLength },
    /** A path that cannot be decoded. */
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      void logRequest(sandbox, request, 400).then(() => reply.code(400).send(malformed))
    },
    /** Bytes that are no HTTP, or a head that is too large: there is no request to log. */
    clientErrorHandler: (error: Error & { code?: string }, socket: Duplex) => {
      if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
      if (error.code !== 'HPE_HEADER_OVERFLOW') return endWith(socket, '400 Bad Request', malformed)
      const tooLarge = { [errorCode]: 'request_malformed', [message]: 'The head of the request is too large.' }
      endWith(socket, '431 Request Header Fields Too Large', tooLarge)
    },
  }
}

/**
 * Has the server answer two kinds of requests that Node would answer by itself without a body: one that expects what
 * nobody knows is like any other (RFC 9110, 10.1.1), and one for a tunnel is refused.
 */
export function answerUnexpected({ server }: FastifyInstance, { contract }: Pick<Sandbox, 'contract'>): void {
  const { errorCode, message } = contract.names.error
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    endWith(socket, '400 Bad Request', { [errorCode]: 'request_malformed', [message]: 'This is no proxy.' })
  })
}

function endWith(socket: Duplex, status: string, refusal: Record<string, string>): void {
  const body = JSON.stringify(refusal)
  const head = `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nconnection: close\r\n\r\n${body}`)
}
