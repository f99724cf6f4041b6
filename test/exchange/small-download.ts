import { buffer } from 'node:stream/consumers'
import { type DownloadOptions, openDownload } from '../../src/exchange/download.ts'
import { httpServer } from './fault-server.ts'
import { apiKey } from './test-client.ts'

/** A page with letters of several bytes. */
export const page = Buffer.from(
  JSON.stringify({ companies: [{ id: 'a', name: 'Hôtel ホテル' }], padding: 'x'.repeat(200_000) }),
)

/** A download of a small file, with short waits. */
export function openSmall(url: string, options: Partial<DownloadOptions> = {}) {
  return openDownload({
    url,
    baseUrl: 'http://127.0.0.1:1',
    apiKey,
    allowedHosts: [],
    maxBytes: 1_000_000,
    maxInflatedBytes: 1_000_000,
    connectTimeoutMs: 2000,
    headersTimeoutMs: 300,
    bodyTimeoutMs: 300,
    ...options,
  })
}

/** The whole body. */
export async function download(url: string, options: Partial<DownloadOptions> = {}): Promise<Buffer> {
  const { body } = await openSmall(url, options)
  return buffer(body)
}

/** A server that answers every request with this body. */
export function serving(body: Buffer, headers: Record<string, string> = {}) {
  return httpServer((_request, response) => response.writeHead(200, headers).end(body))
}
