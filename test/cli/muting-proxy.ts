import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * Stands between a process and its PostgreSQL server. A connection on which a statement with `word` was sent gets no
 * answer any more, though the server does what it was asked: as if the network broke right after it.
 */
export async function mutingProxy(url: string, word: string): Promise<AsyncDisposable & { url: string }> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let muted = false
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}))
    client.on('data', (bytes) => {
      if (bytes.includes(word)) muted = true
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (!muted) client.write(bytes)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const through = new URL(url)
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: through.href,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
