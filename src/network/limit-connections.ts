import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'

type Connection = {
  /** Ends the connection when it is destroyed. */
  socket: Socket
  /** What answers are written to: with TLS another than `socket`. */
  writer: Socket
  /** Requests that are being answered. */
  answering: number
  /** The place of the first of these among the requests of all connections. */
  since: number
}

type ConnectionLimit = {
  /** Told of a request that has come whole: until it is answered it costs us time, and no longer the client. */
  answers(request: IncomingMessage, response: ServerResponse): void
}

/** One connection, whether TLS is between or not. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`
}

/**
 * Lets in so many connections at once. One more takes the place of the oldest that is not being answered: clients that
 * say nothing, or that never come to the end of what they say, keep nobody out, and least of all who asks whether the
 * process lives. If all are being answered, it takes the place of the one that has been for longest among those that
 * do not take what is written to them. Only if there is none of these either is the new one refused.
 */
export function limitConnections(server: Server, limit: number): ConnectionLimit {
  const open = new Map<string, Connection>()
  let requests = 0
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    // A port is used again at once: the name is then that of the newer connection.
    socket.once('close', () => {
      if (open.get(name)?.socket === socket) open.delete(name)
    })
    if (open.size >= limit) {
      const given = leastNeeded([...open.values()])
      if (given === undefined) {
        socket.destroy()
        return
      }
      given.socket.destroy()
      open.delete(nameOf(given.socket))
    }
    open.set(name, { socket, writer: socket, answering: 0, since: 0 })
  })
  return {
    answers(request, response) {
      requests += 1
      const connection = open.get(nameOf(request.socket))
      if (connection === undefined || response.writableEnded) return
      connection.writer = request.socket
      if (connection.answering === 0) connection.since = requests
      connection.answering += 1
      response.once('close', () => {
        connection.answering -= 1
      })
    },
  }
}

function leastNeeded(connections: readonly Connection[]): Connection | undefined {
  const idle = connections.find(({ answering }) => answering === 0)
  if (idle !== undefined) return idle
  // The system has room for what a client takes: something waits here only if the client is slow, or does not read.
  const [longest] = connections.filter(({ writer }) => writer.writableLength > 0).sort((a, b) => a.since - b.since)
  return longest
}
