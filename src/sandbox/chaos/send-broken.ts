import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import { isAdjustable, type SandboxClock } from '../clock.ts'

/** A body that is ready to be sent. */
type Sending = {
  reply: FastifyReply
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** The length of the body, where it is known. */
  bytes: number | null
}

/**
 * How a body ends before its end. `length`: the Content-Length promised more. `chunked`: the last chunk is missing.
 * `clean`: it is framed as if it were complete. `never`: the connection stays open, and nothing more comes.
 */
export type Ending = 'length' | 'chunked' | 'clean' | 'never'

/**
 * Sends the body without its last `missing` bytes, 1 or more; of a body that is no longer than that, the first half.
 */
export async function sendCut({ reply, body, bytes }: Sending, missing: number, ending: Ending): Promise<void> {
  const { socket } = reply.raw
  takeOver(reply, ending === 'length' || ending === 'never' ? bytes : null)
  if (!(await sendAll(reply, withoutEnd(body, missing)))) return
  if (ending === 'clean') reply.raw.end()
  else if (ending !== 'never') socket?.destroySoon()
}

/** Milliseconds between two bytes. */
const pauseMs = 1000

/** Sends one byte a second, by the client's time. */
export async function sendSlowly({ reply, body, bytes }: Sending, clock: SandboxClock): Promise<void> {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  takeOver(reply, bytes)
  async function* byteByByte() {
    for await (const piece of body) {
      for (let at = 0; at < piece.length && !gone.signal.aborted; at += 1) {
        yield piece.subarray(at, at + 1)
        await wallWait(clock, pauseMs, gone.signal)
      }
    }
  }
  if (await sendAll(reply, byteByByte())) reply.raw.end()
}

/** Resets the connection instead of answering. */
export function sendReset(reply: FastifyReply): void {
  reply.hijack()
  reply.raw.socket?.resetAndDestroy()
}

/** Sends bytes that are no HTTP, and closes the connection. */
export function sendGarbage(reply: FastifyReply): void {
  reply.hijack()
  reply.raw.socket?.write(Buffer.from([0x16, 0x03, 0x01, 0x00, 0xff, ...Buffer.from('\r\nnot even close\r\n\r\n')]))
  reply.raw.socket?.destroySoon()
}

/** Sends the head; the length is named if there is one, otherwise the body is chunked. */
function takeOver(reply: FastifyReply, bytes: number | null): void {
  reply.hijack()
  reply.removeHeader('content-length')
  if (bytes !== null) void reply.header('content-length', String(bytes))
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  reply.raw.writeHead(reply.statusCode)
}

/** False when the client, or the source of the body, was gone before everything was sent. */
async function sendAll(reply: FastifyReply, pieces: AsyncIterable<Uint8Array>): Promise<boolean> {
  try {
    await pipeline(Readable.from(pieces, { objectMode: false }), reply.raw, { end: false })
    return !reply.raw.destroyed
  } catch {
    reply.raw.destroy()
    return false
  }
}

async function* withoutEnd(body: Sending['body'], missing: number): AsyncGenerator<Uint8Array> {
  let held = Buffer.alloc(0)
  let isLonger = false
  for await (const piece of body) {
    held = Buffer.concat([held, piece])
    if (held.length <= missing) continue
    isLonger = true
    yield held.subarray(0, held.length - missing)
    held = held.subarray(held.length - missing)
  }
  if (!isLonger) yield held.subarray(0, held.length >> 1)
}

/**
 * Waits `ms` as a client's own clock measures them, however fast the sandbox's time runs: what happens on a connection
 * is compared with the patience of the one at its other end. Resolves at once when the signal aborts.
 */
export function wallWait(clock: SandboxClock, ms: number, signal: AbortSignal): Promise<void> {
  return clock.wait(isAdjustable(clock) ? ms * clock.timeWarp() : ms, signal)
}
