import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { expect, vi } from 'vitest'
import { createWebhookVerifier } from '../../src/exchange/webhook-signature.ts'

/** A webhook's body, as the specification describes it. */
export type Envelope = { id: string; type: string; timestamp: string; data: Record<string, unknown> }

export type Received = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  event: Envelope
}

/** What a partner runs: an HTTP server that keeps what it gets, and checks each signature with two verifiers. */
export type Receiver = {
  readonly url: string
  readonly received: readonly Received[]
  /** Deliveries that one of the verifiers did not accept, with the reason. */
  readonly unverified: readonly string[]
  /** From now on deliveries are answered so; 204 at first. */
  answer(how: (response: ServerResponse, received: Received) => void): void
  /** Verifies what comes to `path` with this secret, as well as with those from before. */
  trust(path: string, secret: string): void
  /** The first `count` deliveries, once they are there; with `path`, of those to it. */
  gets(count: number, path?: string): Promise<Received[]>
  close(): Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const unverified: string[] = []
  const secrets = new Map<string, string[]>()
  let respond = (response: ServerResponse, _received: Received): void => void response.writeHead(204).end()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const { method = '', url: path = '', headers } = request
      const got = { method, path, headers, body, event: JSON.parse(body.toString('utf8')) as Envelope }
      for (const fault of faultsOf(got, secrets.get(path) ?? [])) unverified.push(`${path}: ${fault}`)
      received.push(got)
      respond(response, got)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = (path?: string) => received.filter((one) => path === undefined || one.path === path)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    unverified,
    answer: (how) => {
      respond = how
    },
    trust: (path, secret) => {
      secrets.set(path, [...(secrets.get(path) ?? []), secret])
    },
    gets: async (count, path) => {
      await vi.waitFor(() => expect(at(path).length).toBeGreaterThanOrEqual(count), { timeout: 60_000, interval: 10 })
      return at(path).slice(0, count)
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What the public package and our verifier have against a delivery. */
function faultsOf({ headers, body }: Received, secrets: readonly string[]): string[] {
  const faults: string[] = []
  const header = (name: string) => headers[name]?.toString()
  const asSent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  if (!secrets.some((secret) => accepts(() => new Webhook(secret).verify(body, asSent)))) {
    faults.push('standardwebhooks does not accept it')
  }
  if (secrets.length === 0) return [...faults, 'no secret is known']
  const verification = createWebhookVerifier(secrets, () => Date.now())({
    id: header('webhook-id'),
    timestamp: header('webhook-timestamp'),
    signature: header('webhook-signature'),
    body,
  })
  return verification.verified ? faults : [...faults, verification.reason]
}

function accepts(verify: () => unknown): boolean {
  try {
    verify()
    return true
  } catch {
    return false
  }
}
