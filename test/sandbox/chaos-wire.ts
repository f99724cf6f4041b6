import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { vi } from 'vitest'

/** What a client sees on its connection, without a library that would make sense of it. */
export type Exchange = {
  /** Everything that has come so far. */
  received(): Buffer
  /** How the connection ended; null while it is open. */
  ended(): 'closed' | 'reset' | null
  /** Resolves at the end of the connection. */
  end(): Promise<Received>
  /** Resolves when the condition holds for what has come so far. */
  until(condition: (received: Received) => boolean): Promise<Received>
  hangUp(): void
}

export type Received = {
  end: 'closed' | 'reset' | null
  /** Null when what came does not begin as an answer does. */
  status: number | null
  headers: Record<string, string>
  /** The body as it was framed, and the same without its chunks. */
  framed: Buffer
  body: Buffer
  /** Whether all of the body came that the framing promised. */
  isWhole: boolean
}

export type Sent = { method?: string; key?: string | null; body?: unknown; headers?: Record<string, string> }

/** Sends one request on a connection of its own, which the server is to close behind the answer. */
export function exchange(
  address: string,
  { method = 'GET', key = 'demo-key', body, headers = {} }: Sent = {},
): Exchange {
  const url = new URL(address)
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = {
    host: url.host,
    connection: 'close',
    ...(key !== null && { authorization: key }),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...headers,
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  const pieces: Buffer[] = []
  let ended: 'closed' | 'reset' | null = null
  const socket = connect(Number(url.port), url.hostname)
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.on('error', (error: Error & { code?: string }) => {
    ended = error.code === 'ECONNRESET' ? 'reset' : null
  })
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      ended ??= 'closed'
      resolve()
    })
  })
  socket.write(`${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  const seen = (): Received => ({ ...read(Buffer.concat(pieces)), end: ended })
  return {
    received: () => Buffer.concat(pieces),
    ended: () => ended,
    end: () => closed.then(seen),
    until: (condition) =>
      vi.waitFor(
        () => {
          const received = seen()
          if (!condition(received)) throw new Error(`only ${received.body.length} bytes of a body have come`)
          return received
        },
        { timeout: 60_000, interval: 5 },
      ),
    hangUp: () => socket.destroy(),
  }
}

/** The whole exchange. */
export function wire(address: string, sent: Sent = {}): Promise<Received> {
  return exchange(address, sent).end()
}

/** The document in a body that came whole. */
export function json<T>(received: Received): T {
  const isZipped = received.headers['content-encoding'] === 'gzip'
  return JSON.parse((isZipped ? gunzipSync(received.body) : received.body).toString('utf8')) as T
}

function read(bytes: Buffer): Omit<Received, 'end'> {
  const split = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, Math.max(split, 0)).toString('latin1').split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]
  if (status === undefined) {
    return { status: null, headers: {}, framed: bytes, body: Buffer.alloc(0), isWhole: false }
  }
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
  const framed = bytes.subarray(split + 4)
  const whole = headers['transfer-encoding'] === 'chunked' ? dechunked(framed) : counted(framed, headers)
  return { status: Number(status), headers, framed, ...whole }
}

function counted(framed: Buffer, headers: Record<string, string>) {
  return { body: framed, isWhole: framed.length === Number(headers['content-length']) }
}

function dechunked(framed: Buffer): { body: Buffer; isWhole: boolean } {
  const pieces: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = framed.indexOf('\r\n', at)
    if (lineEnd < 0) return { body: Buffer.concat(pieces), isWhole: false }
    const size = Number.parseInt(framed.subarray(at, lineEnd).toString('latin1'), 16)
    if (size === 0) return { body: Buffer.concat(pieces), isWhole: true }
    pieces.push(framed.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
    if (at > framed.length) return { body: Buffer.concat(pieces), isWhole: false }
  }
}
