import { lookup } from 'node:dns/promises'
import { type AddressInfo, createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'

/**
 * Listens where the settings say. `localhost` can be two addresses, and Fastify would make a second server for the
 * other one: no limit of connections holds for that, and it shows no renewed certificate. Here one server has the
 * connections of both.
 * @throws when the name is unknown, or its first address is taken. Another one that cannot be had is left out.
 */
export async function listenHttp(server: FastifyInstance, { host, port }: Config['http']): Promise<void> {
  const [first = host, ...others] = host === 'localhost' ? await addressesOf(host) : [host]
  await server.listen({ host: first, port: port ?? 0 })
  for (const other of others) await listenToo(server, other)
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

async function listenToo({ server }: FastifyInstance, host: string): Promise<void> {
  const { port } = server.address() as AddressInfo
  // As the server of Node has it: without TLS, a client that has ended its side is still answered.
  const allowHalfOpen = !('setSecureContext' in server)
  const other = createServer({ allowHalfOpen, noDelay: true }, (socket) => server.emit('connection', socket))
  server.once('close', () => other.close())
  await new Promise<void>((resolve) => {
    other.once('error', () => resolve()).listen({ host, port }, resolve)
  })
}
