/** What identifies one call in a message: never the key, a header or a body. */
export type Call = { method: string; url: string }

/**
 * That the proxy on the way takes no connection of ours before a person corrects the user and password: to try them
 * again could lock the account.
 */
export const proxyDeniedCode = 'proxy_unauthorized'

function isProxyDenied(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === proxyDeniedCode
}

/**
 * The exchange with the service broke before an answer was complete.
 * `requestMayHaveArrived` false: no byte of the request left, so sending it again is safe.
 */
export class TransportError extends Error {
  readonly code: 'exchange_unreachable' | typeof proxyDeniedCode
  readonly requestMayHaveArrived: boolean

  constructor(call: Call, detail: string, requestMayHaveArrived: boolean, cause: unknown) {
    const arrived = requestMayHaveArrived ? 'the request may have arrived' : 'nothing was sent'
    super(`${call.method} ${call.url}: the service could not be reached (${detail}); ${arrived}`, { cause })
    this.name = 'TransportError'
    this.code = isProxyDenied(cause) ? proxyDeniedCode : 'exchange_unreachable'
    this.requestMayHaveArrived = requestMayHaveArrived
  }
}

type HttpErrorCode =
  | 'exchange_refused'
  | 'exchange_unauthorized'
  | 'exchange_forbidden'
  | 'exchange_not_found'
  | 'exchange_throttled'
  | 'exchange_failed'

export type Refusal = {
  status: number
  /** The service's own `errorCode`; null when the answer has none. New values can appear. */
  errorCode: string | null
  /** The service's own words: for people, never parsed. */
  serviceMessage: string | null
  retryAfterMs: number | null
}

/**
 * The service answered and did not do what was asked. The class of the status decides `code`. Specification: Errors.
 */
export class HttpError extends Error {
  readonly code: HttpErrorCode
  readonly status: number
  readonly errorCode: string | null
  readonly serviceMessage: string | null
  /** How long the service asks to wait, in milliseconds, capped; null when it does not say. */
  readonly retryAfterMs: number | null
  readonly method: string
  /** Path of the request, without the origin. */
  readonly path: string

  constructor(call: Call, refusal: Refusal) {
    const { status, errorCode, serviceMessage } = refusal
    const said = [errorCode, serviceMessage].filter((part) => part !== null).join(': ')
    super(`${call.method} ${call.url}: the service answered ${status}${said ? ` (${said})` : ''}. ${adviceFor(status)}`)
    this.name = 'HttpError'
    this.code = codeFor(status)
    this.status = status
    this.errorCode = errorCode
    this.serviceMessage = serviceMessage
    this.retryAfterMs = refusal.retryAfterMs
    this.method = call.method
    this.path = new URL(call.url).pathname
  }
}

/** What the service said when it did not accept the key. */
export type KeySaid = { errorCode: string | null; serviceMessage: string | null }

/** The breaker of a key is open: the service has answered 401, and no call is made but a probe now and then. */
export type KeyDenial = KeySaid & { since: Date }

/** A call that was not made, because the service does not accept the key: the breaker is open. Nothing was sent. */
export class KeyDenied extends HttpError {
  readonly since: Date

  constructor(call: Call, { since, ...said }: KeyDenial) {
    super(call, { status: 401, ...said, retryAfterMs: null })
    const words = [said.errorCode, said.serviceMessage].filter((part) => part !== null).join(': ')
    const at = since.toISOString().slice(0, 19).replace('T', ' ')
    this.message = `${call.method} ${call.url}: not called, because the service does not accept the API key (401${words ? ` ${words}` : ''}) since ${at} UTC. ${keyAdvice}`
    this.name = 'KeyDenied'
    this.since = since
  }
}

/**
 * Whether the service itself says that it knows no such thing. Its errors carry an errorCode (specification, Errors): a
 * 404 without one is that of somebody on the way, such as a gateway that does not find the service.
 */
export function saysUnknown(error: unknown): error is HttpError {
  return error instanceof HttpError && error.code === 'exchange_not_found' && error.errorCode !== null
}

/** The code under which a failed call is counted: a 404 that is no word of the service passes as its failures do. */
export function countedCode(error: { code: string }): string {
  return error.code === 'exchange_not_found' && error instanceof HttpError && !saysUnknown(error)
    ? 'exchange_failed'
    : error.code
}

/** What to do about a key that the service does not accept. */
export const keyAdvice = 'Set EXCHANGE_API_KEY to a key of the profile to act as'

function codeFor(status: number): HttpErrorCode {
  if (status === 401) return 'exchange_unauthorized'
  if (status === 403) return 'exchange_forbidden'
  if (status === 404) return 'exchange_not_found'
  if (status === 429) return 'exchange_throttled'
  return status >= 500 || passing.has(status) ? 'exchange_failed' : 'exchange_refused'
}

/**
 * Client errors that a proxy answers for a while, or for one connection: the same request can succeed a moment later.
 */
const passing = new Set([408, 421, 425, 460, 499])

function adviceFor(status: number): string {
  if (status === 401) return 'Check the API key'
  if (status === 403) return "Check that the key's profile may use what the request names"
  if (status === 404) return 'Check the base address and the id'
  if (status === 429) return 'Lower the request rate'
  if (passing.has(status)) return 'A proxy on the way gave up, or wants the request again'
  if (status >= 500) return 'The trouble is at the service'
  if (status < 400) return 'Redirects are not followed: check the base address'
  return 'The request was not accepted'
}

/**
 * A submission may or may not have been accepted. Never send it again before the task list was read and
 * every task that may be this one is terminal.
 */
export class UncertainSubmission extends Error {
  readonly code = 'submission_uncertain'

  constructor(call: Call, cause: Error) {
    super(
      `${call.method} ${call.url}: it is unknown whether the service accepted the request (${cause.message}). ` +
        'Read the task list before sending it again',
      { cause },
    )
    this.name = 'UncertainSubmission'
  }
}

/** The service answered with success and something that is not the promised answer. */
export class AnswerFormatError extends Error {
  readonly code = 'exchange_answer_malformed'
  /** It may be the promised answer, but is longer than may be read into memory. */
  readonly tooLong: boolean

  constructor(what: string, options?: ErrorOptions & { tooLong?: boolean }) {
    super(what, options)
    this.tooLong = options?.tooLong ?? false
    this.name = 'AnswerFormatError'
  }
}

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
  readonly code: 'download_failed' | typeof proxyDeniedCode
  /** Null when there was no answer. */
  readonly status: number | null
  /** True for 403, 404 and 410: the file is not there. */
  readonly expired: boolean
  /**
   * Whether a fresh URL from the task may help: after any 4xx that does not pass by itself, because storages answer
   * an expired signature with 400 or 401 too.
   */
  readonly renewable: boolean
  /** How long the server asks to wait, in milliseconds, capped; null when it does not say. */
  readonly retryAfterMs: number | null

  constructor(host: string, why: string, failure: DownloadFailure = {}) {
    const status = failure.status ?? null
    super(`download from ${host} failed: ${why}`, failure.cause === undefined ? {} : { cause: failure.cause })
    this.name = 'DownloadFailed'
    this.code = isProxyDenied(failure.cause) ? proxyDeniedCode : 'download_failed'
    this.status = status
    this.expired = status === 403 || status === 404 || status === 410
    this.renewable = status !== null && status >= 400 && status < 500 && status !== 429 && !passing.has(status)
    this.retryAfterMs = failure.retryAfterMs ?? null
  }
}
