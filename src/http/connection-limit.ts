import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** One connection, whether TLS is between or not. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`
}

/**
 * Lets in so many connections at once. One more takes the place of the oldest that is not being answered: clients that
 * say nothing, or that never come to the end of what they say, keep nobody out, and least of all who asks whether the
 * process lives. Only if all are being answered is the new one refused.
 */
export function limitConnections(server: FastifyInstance, limit: number): void {
  const open = new Map<string, Socket>()
  const answering = new Map<string, number>()
  const count = (name: string, by: 1 | -1) => {
    const now = (answering.get(name) ?? 0) + by
    if (now > 0) answering.set(name, now)
    else answering.delete(name)
  }
  server.server.on('connection', (socket) => {
    const name = nameOf(socket)
    // A port is used again at once: the name is then that of the newer connection.
    socket.once('close', () => {
      if (open.get(name) === socket) open.delete(name)
    })
    if (open.size >= limit) {
      const idle = [...open.keys()].find((known) => !answering.has(known))
      if (idle === undefined) {
        socket.destroy()
        return
      }
      open.get(idle)?.destroy()
      open.delete(idle)
    }
    open.set(name, socket)
  })
  // Its body has come by then, so that it costs us time and no longer the client.
  server.addHook('preHandler', async (request, reply) => {
    const name = nameOf(request.socket)
    count(name, 1)
    reply.raw.once('close', () => count(name, -1))
  })
}
