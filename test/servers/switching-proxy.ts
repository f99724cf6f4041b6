import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type SwitchingProxy = AsyncDisposable & {
  port: number
  /** Leads new connections to another server, and breaks those to the one before. */
  lead(port: number): void
}

/**
 * An address that stays while the server behind it changes, as in front of a primary and its standby.
 * @param port to listen on; 0: any that is free.
 */
export async function switchingProxy(first: number, port = 0): Promise<SwitchingProxy> {
  const sockets = new Set<Socket>()
  let target = first
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const breakOff = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    lead: (port) => {
      target = port
      breakOff()
    },
    [Symbol.asyncDispose]: async () => {
      breakOff()
      server.close()
      await once(server, 'close')
    },
  }
}
