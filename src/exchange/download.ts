import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { Agent, type Dispatcher } from 'undici'
import { retryAfterMs } from './back-off.ts'
import { ConnectFailure, createConnector } from './connector.ts'
import {
  type DownloadTarget,
  type HostLookup,
  judgeDownloadUrl,
  judgeLiteral,
  pinnedLookup,
  systemLookup,
} from './download-address.ts'
import { acceptedCodings, createInflater, type DownloadLimits, downloadBody } from './download-body.ts'
import { DownloadFailed, DownloadRefused } from './errors.ts'
import { headerText, serviceMoment } from './read-answer.ts'

export type DownloadOptions = Omit<DownloadLimits, 'rateWindowMs'> & {
  /** As the task gives it. */
  url: string
  /** Base address of the service. */
  baseUrl: string
  apiKey: string
  /** Hosts that may have a private address. */
  allowedHosts: readonly string[]
  /** Default 10 s: long enough for a hiccup, short enough to notice one byte a second. */
  rateWindowMs?: number
  connectTimeoutMs: number
  headersTimeoutMs: number
  /** Between two parts of the body, while they are wanted. */
  bodyTimeoutMs: number
  /** PEM of certificate authorities to trust beside the well-known ones. */
  ca?: string | undefined
  logger?: Pick<Logger, 'debug'> | undefined
  signal?: AbortSignal | undefined
  lookup?: HostLookup
  nowMs?: () => number
}

export type Download = {
  /** Decompressed. Errors with `DownloadFailed` or `DownloadRefused`; ends only when it is whole. */
  body: Readable
  /** Bytes on the wire; null when the answer does not say. */
  contentLength: number | null
}

const maxRedirects = 3
const redirects = new Set([301, 302, 303, 307, 308])
/** A wait that is longer than this is for the next run. */
const maxRetryAfterMs = 15 * 60_000

/**
 * Opens a page or result file. Specification: Task (bulk request), Calculator search result page.
 *
 * A URL comes from outside, so each one, and each redirect again, is judged before anything connects: scheme,
 * credentials, the host's addresses (pinned to the connection). The API key goes to the service's own origin only.
 * Never retried here.
 * @throws {DownloadRefused} when a guard says no.
 * @throws {DownloadFailed} without an answer of 200; `expired` tells when a fresh URL is the remedy.
 */
export async function openDownload(options: DownloadOptions): Promise<Download> {
  const baseUrl = new URL(options.baseUrl)
  let url = options.url
  for (let followed = 0; followed <= maxRedirects; followed++) {
    const target = judgeDownloadUrl(url, { baseUrl, allowedHosts: options.allowedHosts })
    if ('refused' in target) throw new DownloadRefused(shownHost(url), target.refused)
    const next = await openTarget(target, baseUrl, options)
    if (typeof next !== 'string') return next
    options.logger?.debug({ host: target.host, followed }, 'download_redirected')
    url = next
  }
  throw new DownloadRefused(shownHost(url), `it was redirected more than ${maxRedirects} times`)
}

/** The download, or where it was redirected to. */
async function openTarget(target: DownloadTarget, baseUrl: URL, options: DownloadOptions): Promise<Download | string> {
  const lookup = options.lookup ?? systemLookup
  await judgeLiteral(target, baseUrl, lookup)
  const agent = new Agent({
    connect: createConnector({
      connectTimeoutMs: options.connectTimeoutMs,
      ca: options.ca,
      lookup: pinnedLookup(target, baseUrl, lookup),
    }),
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
  })
  let handedOver = false
  try {
    const answer = await request(agent, target, options)
    if (redirects.has(answer.statusCode)) return redirectTarget(target, answer)
    const download = accept(target, answer, options, () => {
      agent.destroy().catch(() => {})
    })
    handedOver = true
    return download
  } finally {
    if (!handedOver) await agent.destroy()
  }
}

async function request(agent: Agent, { url, host, ownOrigin }: DownloadTarget, options: DownloadOptions) {
  try {
    return await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: {
        accept: 'application/json',
        'accept-encoding': acceptedCodings,
        'user-agent': 'nightferry',
        ...(ownOrigin ? { authorization: options.apiKey } : {}),
      },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  } catch (error) {
    if (error instanceof ConnectFailure && error.cause instanceof DownloadRefused) throw error.cause
    const detail = error instanceof Error ? error.message : String(error)
    throw new DownloadFailed(host, `no answer (${detail})`, { cause: error })
  }
}

function redirectTarget({ url, host }: DownloadTarget, { headers, statusCode }: Dispatcher.ResponseData): string {
  const location = headerText(headers.location)
  if (location === undefined || !URL.canParse(location, url.href)) {
    throw new DownloadFailed(host, `a redirect (${statusCode}) leads nowhere`, { status: statusCode })
  }
  return new URL(location, url).href
}

function accept(
  target: DownloadTarget,
  answer: Dispatcher.ResponseData,
  options: DownloadOptions,
  release: () => void,
): Download {
  const { host } = target
  const { statusCode: status, headers, body } = answer
  if (status !== 200) {
    const nowMs = serviceMoment(headers) ?? (options.nowMs ?? Date.now)()
    const asked = retryAfterMs(headers['retry-after'], nowMs, maxRetryAfterMs)
    throw new DownloadFailed(host, `the answer is ${status}`, { status, retryAfterMs: asked ?? null })
  }
  const length = headerText(headers['content-length'])
  const contentLength = length !== undefined && /^\d+$/.test(length) ? Number(length) : null
  if (contentLength !== null && contentLength > options.maxBytes) {
    throw new DownloadRefused(host, `it has ${contentLength} bytes, ${options.maxBytes} are allowed`)
  }
  const coding = headerText(headers['content-encoding'])
  const inflater = createInflater(coding)
  if (inflater === null) throw new DownloadRefused(host, `its coding is unknown: ${coding?.slice(0, 40)}`)
  const limits = { ...options, rateWindowMs: options.rateWindowMs ?? 10_000 }
  return { body: downloadBody({ host, body, contentLength, inflater, limits, release }), contentLength }
}

/** Host of a URL for messages; its path and query may be credentials. */
function shownHost(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '(no URL)'
}
