import type { IncomingMessage } from 'node:http'

/** Bytes of the largest delivery that is read. An event is a pointer of some 400; longer is none of the service's. */
const maxDeliveryBytes = 64 * 1024

/**
 * Reads the body of a request, at most 64 KiB of it: one that announces more is not read at all, and of one that
 * announces nothing no more is kept.
 * @returns null if it is larger, or ended before all of it had come.
 */
export async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const announced = request.headers['content-length']
  if (announced !== undefined && Number(announced) > maxDeliveryBytes) return null
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    // Leaving the loop must not cut the connection: the answer is still to be sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxDeliveryBytes) return null
      chunks.push(chunk)
    }
  } catch {
    // The client went away.
    return null
  }
  return request.complete ? Buffer.concat(chunks, bytes) : null
}
