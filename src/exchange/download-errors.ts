/**
 * Our own guard refused a download: its address, a redirect, its coding or its size. Asking again changes nothing;
 * a person changes the configuration, or the service its answer.
 */
export class DownloadRefused extends Error {
  readonly code = 'download_refused'

  constructor(host: string, why: string) {
    super(`download from ${host} refused: ${why}`)
    this.name = 'DownloadRefused'
  }
}

type DownloadFailure = { status?: number; retryAfterMs?: number | null; cause?: unknown }

/**
 * A permitted download did not complete: no answer, an answer other than 200, or a body that was cut short.
 * Messages name the host only, because the path and query of a signed URL are credentials.
 */
export class DownloadFailed extends Error {
  readonly code = 'download_failed'
  /** Null when there was no answer. */
  readonly status: number | null
  /** True for 403, 404 and 410: read the task again for a fresh URL. */
  readonly expired: boolean
  /** How long the server asks to wait, in milliseconds, capped; null when it does not say. */
  readonly retryAfterMs: number | null

  constructor(host: string, why: string, failure: DownloadFailure = {}) {
    const status = failure.status ?? null
    super(`download from ${host} failed: ${why}`, failure.cause === undefined ? {} : { cause: failure.cause })
    this.name = 'DownloadFailed'
    this.status = status
    this.expired = status === 403 || status === 404 || status === 410
    this.retryAfterMs = failure.retryAfterMs ?? null
  }
}
