import type { Required } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { type Download, openDownload } from '../../exchange/download.ts'

/** Bounds on one page. Each keeps memory independent of what the service, or somebody in its place, sends. */
export type PageLimits = {
  /** Levels of nesting anywhere on the page; the specification's deepest has 6. */
  maxDepth: number
  /**
   * Size of one list element (a company with all of its calculators): its bytes on the page, and `markWeight` more for
   * each of the marks { } [ ] : , outside its texts. That is how companies are cut from a page. Elements that are
   * assembled from tokens (the lists of names, result files, companies under a key that is spelt with escapes) are
   * counted by their characters without white space, quotes and escapes, and may be larger by so much.
   */
  maxElementSize: number
  /** Rows kept per page of what was left out. The count stays exact. */
  maxQuarantineRows: number
}

/**
 * What a mark weighs besides its byte: two of them make about what an empty array costs in memory, against two bytes.
 */
export const markWeight = 8

/**
 * A page whose structure is wrong: refused whole, nothing of it is loaded. Downloading it again may help; retrying the
 * same bytes does not.
 */
export class PageFormatError extends Error {
  readonly code = 'page_malformed'

  /** @param place where on the page, for a person: an element and about how many bytes in. */
  constructor(place: string, reason: string, options?: ErrorOptions) {
    super(`the page is malformed ${place}: ${reason}`, options)
    this.name = 'PageFormatError'
  }
}

/** Bytes a second below which a download counts as stalled. */
const minBytesPerSecond = 256

/** Opens a page or result file of the service with the limits of the configuration; `signal` breaks it off. */
export function openResult(
  { config, required }: { config: Pick<Config, 'exchange' | 'pull'>; required: Pick<Required, 'baseUrl' | 'apiKey'> },
  url: string,
  signal?: AbortSignal,
): Promise<Download> {
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
    proxy: exchange.proxy,
    signal,
  })
}
