import type { FastifyInstance } from 'fastify'
import { addressKind } from '../../network/address-kind.ts'
import { RequestRefused } from '../request-refused.ts'

/** Where the server listens, and under which address others were told to reach it. */
export type Whereabouts = { host: string; publicUrl: string | undefined }

/**
 * Refuses what is addressed to a host name that is not the sandbox's, where it listens on loopback only. A web page can
 * make its own name lead to loopback, and its scripts then read every answer; the keys, which are no secret, do not
 * stop them. An IP address as the host is nobody's name.
 */
export function refuseForeignHosts(server: FastifyInstance, { host, publicUrl }: Whereabouts): void {
  if (host !== 'localhost' && addressKind(host) !== 'loopback') return
  const names = new Set(['localhost', ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])])
  server.addHook('onRequest', async ({ headers }) => {
    const name = nameOf(headers.host)
    if (name === null || names.has(name)) return
    throw new RequestRefused(
      421,
      'host_unknown',
      'The sandbox does not go by this host name; --public-url gives it one.',
    )
  })
}

/** The host name that a Host header holds; null for an IP address, and where there is no header. */
function nameOf(header: string | undefined): string | null {
  if (header === undefined) return null
  const url = `http://${header}`
  if (!URL.canParse(url)) return header
  const { hostname } = new URL(url)
  return addressKind(hostname.replace(/^\[(.*)\]$/, '$1')) === null ? hostname : null
}
