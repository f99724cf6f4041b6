import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type StallingProxy = AsyncDisposable & {
  /** The same address as the target's, but by way of the proxy. */
  url: string
  /** From now on nothing passes in either direction, and nobody is told: a server that hangs, or a cable pulled. */
  stall(): void
}

/** Stands between us and a server of any protocol on loopback. */
export async function stallingProxy(target: string): Promise<StallingProxy> {
  const { port } = new URL(target)
  const sockets = new Set<Socket>()
  let stalled = false
  const server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      if (!stalled) from.pipe(to)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    stall: () => {
      stalled = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
