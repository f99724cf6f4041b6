import { Agent, type Dispatcher } from 'undici'
import { retryAfterMs } from '../exchange/back-off.ts'
import { createConnector, endpointUrl, serviceAddress } from '../exchange/connector.ts'
import type { Endpoint } from '../exchange/contract.ts'
import { openDownload } from '../exchange/download.ts'
import { DownloadFailed, DownloadRefused } from '../exchange/errors.ts'

/** One answer as it came; `json` is undefined where the body is none. */
export type Answer = {
  call: string
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  bytes: number
  ms: number
}

type CallOptions = {
  id?: string
  body?: unknown
  /** null: without a key. */
  key?: string | null
  headers?: Readonly<Record<string, string>>
}

/** Plain HTTP to one service: nothing is redirected, corrected or hidden, and only what was too many is sent again. */
export type Wire = {
  readonly baseUrl: string
  readonly apiKey: string
  /** @throws {NoAnswer} when nothing whole came back in time. */
  call(endpoint: Pick<Endpoint, 'method' | 'path'>, options?: CallOptions): Promise<Answer>
  /** A result file, with the guards that Nightferry itself has. @throws {NoAnswer} when it does not come whole. */
  download(url: string): Promise<unknown>
  /** What was sent, for the summary: method and path, with how often. */
  readonly sent: ReadonlyMap<string, number>
  /** How often each status came back, over all and by call. */
  readonly statuses: ReadonlyMap<number, number>
  readonly statusesOf: ReadonlyMap<string, ReadonlySet<number>>
  /** Refusals of the service itself, the first ones of each call and status. */
  readonly refusals: readonly Answer[]
  /** From now on calls go through though the run was stopped: what it set up is to be taken down. */
  beginCleanUp(): void
  close(): Promise<void>
}

/** No whole answer: refused, reset, too late, too long, or no JSON where a file was promised. */
export class NoAnswer extends Error {
  readonly code = 'no_answer'
}

type WireOptions = {
  baseUrl: string
  apiKey: string
  /** Further keys that calls may carry. */
  certifierKey: string | null
  siblingKey: string | null
  /** Address of the HTTP proxy that leads to the service. */
  proxy?: string | null | undefined
  /** For one call, from its start to its last byte. */
  callMs: number
  signal: AbortSignal
  now: () => number
  wait: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** Before a call that was too many is sent again, where the service does not say when. Milliseconds. */
  pauseMs: number
}

/** A call that was too many is sent so often; rate limits are not shown (specification, Limits). */
const mostSendings = 5
/** The longest that a `Retry-After` is waited for. Milliseconds. */
const longestPauseMs = 60_000

/** What is shorter is no secret, and could stand in a document by chance. */
const shortestKey = 8

/** Answers and files are kept whole; a page beyond this is looked at by other means than this suite. */
const maxBytes = 512 * 1024 * 1024

/** Refusals of one call with one status that are kept. */
const refusalsKept = 20

export function openWire(options: WireOptions): Wire {
  const { apiKey, callMs, now } = options
  const address = serviceAddress(options.baseUrl)
  const { proxy } = options
  const connect = proxy == null ? { timeout: callMs } : createConnector({ connectTimeoutMs: callMs, proxy })
  const agent = new Agent({ connect, headersTimeout: callMs, bodyTimeout: callMs, pipelining: 1 })
  const sent = new Map<string, number>()
  const statuses = new Map<number, number>()
  const statusesOf = new Map<string, Set<number>>()
  const refusals: Answer[] = []
  const keepRefusal = (answer: Answer) => {
    if (answer.status < 400 || !answer.call.includes(' /api/')) return
    const alike = refusals.filter(({ call, status }) => call === answer.call && status === answer.status)
    if (alike.length < refusalsKept) refusals.push(answer)
  }
  let stop = options.signal
  // A service can say a key back in whatever it answers; the table and its JSON form are passed on to others.
  const keys = [apiKey, options.certifierKey, options.siblingKey].filter((key) => key !== null)
  const conceal = (text: string) =>
    keys.reduce((shown, key) => (key.length < shortestKey ? shown : shown.replaceAll(key, '[API key]')), text)
  const parsed = (bytes: Buffer) => parsedText(bytes, conceal)
  const within = <T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    work(AbortSignal.any([stop, AbortSignal.timeout(callMs)])).catch((error: unknown) => {
      throw error instanceof NoAnswer ? error : new NoAnswer(conceal(`${what}: ${describe(error)}`), { cause: error })
    })
  const send: Wire['call'] = (endpoint, { id, body, key = apiKey, headers } = {}) => {
    const url = endpointUrl(address, { ...endpoint, source: 'stated' }, id)
    const what = `${endpoint.method} ${endpoint.path.replace(uuidInPath, '/{id}').replace(/\?.*$/, '')}`
    sent.set(what, (sent.get(what) ?? 0) + 1)
    const startedAt = now()
    return within(what, async (signal) => {
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: endpoint.method,
        signal,
        headers: {
          accept: 'application/json',
          'user-agent': 'nightferry-conformance',
          ...(key !== null && { authorization: key }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
      statusesOf.set(what, (statusesOf.get(what) ?? new Set()).add(answer.statusCode))
      const bytes = await collect(answer.body)
      const whole: Answer = {
        call: what,
        status: answer.statusCode,
        headers: plain(answer.headers, conceal),
        json: parsed(bytes),
        bytes: bytes.length,
        ms: now() - startedAt,
      }
      // What a bad key is answered, and with which body, is not shown.
      if (key !== null && keys.includes(key)) keepRefusal(whole)
      return whole
    })
  }
  return {
    baseUrl: options.baseUrl,
    apiKey,
    sent,
    statuses,
    statusesOf,
    refusals,
    call: async (...call) => {
      for (let nth = 1; ; nth += 1) {
        const answer = await send(...call)
        if (answer.status !== 429 || nth === mostSendings) return answer
        const askedMs = retryAfterMs(answer.headers['retry-after'], now(), longestPauseMs)
        await options.wait(askedMs ?? options.pauseMs * nth, stop)
      }
    },
    download: (url) => {
      sent.set('GET (result files)', (sent.get('GET (result files)') ?? 0) + 1)
      return within('GET (a result file)', async (signal) => {
        const limits = { maxBytes, maxInflatedBytes: maxBytes }
        const timeouts = { connectTimeoutMs: callMs, headersTimeoutMs: callMs, bodyTimeoutMs: callMs, proxy }
        const { baseUrl } = options
        const { body } = await openDownload({ url, baseUrl, apiKey, allowedHosts: [], signal, ...limits, ...timeouts })
        const bytes = await collect(body)
        const json = parsed(bytes)
        if (json === undefined) throw new NoAnswer(`a result file is no JSON (${bytes.length} bytes)`)
        return json
      })
    },
    beginCleanUp: () => {
      stop = new AbortController().signal
    },
    close: () => agent.destroy(),
  }
}

async function collect(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw new NoAnswer(`the answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const uuidInPath = /\/[0-9a-f]{8}-[0-9a-f-]{27}/gi

/** The bytes as JSON in UTF-8, without what is to be concealed; undefined when they are something else. */
function parsedText(bytes: Buffer, conceal: (text: string) => string): unknown {
  try {
    return JSON.parse(conceal(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch {
    return undefined
  }
}

function plain(headers: Dispatcher.ResponseData['headers'], conceal: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, conceal(String(value ?? ''))]))
}

function describe(error: unknown): string {
  if (error instanceof DownloadFailed || error instanceof DownloadRefused) return `${error.code}: ${error.message}`
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no whole answer in time'
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : ''
  return `${code}${error.message || error.name}${cause}`
}
