import { type Download, openDownload } from '../exchange/download.ts'
import type { Deps } from './deps.ts'

/** Bytes a second below which a download counts as stalled. */
const minBytesPerSecond = 256

/** Opens a page or result file of the service with the limits of the configuration; `signal` breaks it off. */
export function openResult({ config, required }: Deps, url: string, signal?: AbortSignal): Promise<Download> {
  const { exchange, pull } = config
  return openDownload({
    url,
    baseUrl: required.baseUrl,
    apiKey: required.apiKey,
    allowedHosts: pull.allowedHosts,
    maxBytes: pull.maxPageBytes,
    maxInflatedBytes: pull.maxInflatedBytes,
    minBytesPerSecond,
    connectTimeoutMs: exchange.connectTimeoutMs,
    headersTimeoutMs: exchange.headersTimeoutMs,
    bodyTimeoutMs: exchange.bodyTimeoutMs,
    signal,
  })
}
