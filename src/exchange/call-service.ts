import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { retryAfterMs } from './back-off.ts'
import type { Contract, Endpoint } from './contract.ts'
import { AnswerFormatError, type Call, HttpError, type Refusal, TransportError } from './errors.ts'
import {
  type AnswerLimits,
  type ClockSkew,
  clockSkew,
  parseAnswer,
  readAnswer,
  serviceMoment,
  showsNoClock,
} from './read-answer.ts'
import { concealingKey } from './secret-forms.ts'
import { classifyFailure } from './submit-outcome.ts'
import { objectOf, textOf } from './wire-value.ts'

/** A body that is streamed, and whose length is known before its first byte leaves. */
export type SizedBody = {
  bytes: number
  /** Opens the body; asked for when the request's turn has come. */
  content: () => AsyncIterable<Uint8Array>
}

/** A request body: text and bytes are sent with their length, an iterable without one is streamed in chunks. */
export type RequestBody = string | Uint8Array | SizedBody | AsyncIterable<Uint8Array>

export type ServiceCall = {
  endpoint: Endpoint
  url: URL
  body?: RequestBody
  /** A call whose answer carries nothing that anybody reads. */
  answerIgnored?: boolean
  /** Gives this one call up. */
  signal?: AbortSignal
  /** It may find out whether a key that was refused is accepted again. */
  mayProbe?: boolean
}

type CallSettings = AnswerLimits & {
  contract: Contract
  apiKey: string
  maxRetryAfterMs: number
  /** By the clock that the service's is compared with. */
  nowMs: () => number
  /** Hears of each answer that says how far the service's clock is from ours. */
  onSkew: (skew: ClockSkew) => void
  /** Hears of each answer of the service that does not say what time it is. */
  onNoClock: () => void
  signal: AbortSignal
}

/** An error page is read for its code and message only. */
const maxErrorBytes = 64 * 1024

/**
 * One request and its answer, never retried and never redirected. The Authorization header is the key itself.
 * @throws {TransportError} when the exchange broke; it says whether the request may have arrived.
 * @throws {HttpError} for any status but 2xx.
 * @throws {AnswerFormatError} when a 2xx answer is not JSON within its limits.
 */
export async function callService(dispatcher: Dispatcher, call: ServiceCall, settings: CallSettings): Promise<unknown> {
  const shown = shownCall(call)
  const conceal = concealingKey(settings.apiKey)
  const broken = (error: unknown, arrived: boolean) =>
    new TransportError(shown, conceal(describeFailure(error)), arrived, error)

  let answer: Dispatcher.ResponseData
  const sentMs = settings.nowMs()
  try {
    answer = await dispatcher.request(requestOptions(call, settings))
  } catch (error) {
    throw broken(error, classifyFailure(error) === 'may_have_arrived')
  }
  const { statusCode: status, headers } = answer
  const skew = clockSkew(headers, sentMs, settings.nowMs())
  if (skew !== null) settings.onSkew(skew)
  if (showsNoClock(status, headers)) settings.onNoClock()
  if (status < 200 || status > 299) {
    const limits = { ...settings, maxAnswerBytes: Math.min(settings.maxAnswerBytes, maxErrorBytes) }
    // The status is the answer: an error body that is cut short takes nothing from it.
    const body = await readAnswer(answer.body, limits).catch(() => Buffer.alloc(0))
    const { maxRetryAfterMs } = settings
    // A date to wait until is by the service's clock, like the date of its answer.
    const nowMs = serviceMoment(headers) ?? settings.nowMs()
    const refused = { status, headers, body, nowMs, maxRetryAfterMs, conceal }
    throw new HttpError(shown, readRefusal(settings.contract, refused))
  }
  try {
    const bytes = await readAnswer(answer.body, settings)
    return call.answerIgnored === true ? null : parseAnswer(bytes, headers)
  } catch (error) {
    if (!(error instanceof AnswerFormatError)) throw broken(error, true)
    const { cause, tooLong } = error
    throw new AnswerFormatError(conceal(`${shown.method} ${shown.url}: ${error.message}`), { cause, tooLong })
  }
}

/** How messages and logs name a call. */
export function shownCall({ endpoint, url }: ServiceCall): Call {
  return { method: endpoint.method, url: url.origin + url.pathname }
}

function requestOptions(
  { endpoint, url, body, signal }: ServiceCall,
  settings: CallSettings,
): Dispatcher.RequestOptions & { origin: string } {
  return {
    origin: url.origin,
    path: url.pathname,
    method: endpoint.method,
    signal: signal === undefined ? settings.signal : AbortSignal.any([settings.signal, signal]),
    headers: {
      authorization: settings.apiKey,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'nightferry',
      ...(body === undefined ? {} : { 'content-type': 'application/json', ...lengthOf(body) }),
    },
    ...(body === undefined ? {} : { body: sendable(body) }),
  }
}

/** With the length announced, undici breaks the connection off where the body turns out to have another one. */
function lengthOf(body: RequestBody): { 'content-length'?: string } {
  return typeof body === 'object' && 'bytes' in body ? { 'content-length': String(body.bytes) } : {}
}

function sendable(body: RequestBody): string | Uint8Array | Readable {
  return typeof body === 'string' || body instanceof Uint8Array
    ? body
    : Readable.from(opened(body), { objectMode: false })
}

/**
 * The body could not be read to its end, so the request was broken off. With a code of its own: whatever went wrong
 * here, such as a refused connection to a database, says nothing about the connection to the service.
 */
class BodyFailed extends Error {
  readonly code = 'BODY_FAILED'
}

/** Opened when the first byte is asked for: a request that is never written opens nothing. */
async function* opened(body: SizedBody | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* 'bytes' in body ? body.content() : body
  } catch (cause) {
    throw new BodyFailed(`the body could not be read to its end (${describeFailure(cause)})`, { cause })
  }
}

/** A failure in one line: code and message, those of each attempt when several addresses were tried. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof AggregateError) return describeFailure(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(describeFailure).join('; ')
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return code === undefined || error.message.includes(code) ? error.message : `${code}: ${error.message}`
}

/** A longer message helps nobody and would be stored with every row that it concerns. */
const maxMessageLength = 2000

type RefusedAnswer = {
  status: number
  headers: Dispatcher.ResponseData['headers']
  /** Empty when there was none or it could not be read: the status alone decides. */
  body: Buffer
  nowMs: number
  maxRetryAfterMs: number
  /** Takes the key out of a text: a service may repeat what it was given. */
  conceal: (text: string) => string
}

/** Reads what the service says about a request that it did not carry out. Pure; never throws. Specification: Errors. */
export function readRefusal(contract: Contract, answer: RefusedAnswer): Refusal {
  const names = contract.names.error
  const fields = objectOf(jsonOrNull(answer.body))
  const asked = retryAfterMs(answer.headers['retry-after'], answer.nowMs, answer.maxRetryAfterMs)
  return {
    status: answer.status,
    errorCode: said(fields?.[names.errorCode], answer),
    serviceMessage: said(fields?.[names.message], answer),
    retryAfterMs: asked ?? null,
  }
}

/** Concealed before it is cut: a cut key would not be found, and most of it would stay. */
function said(value: unknown, { conceal }: RefusedAnswer): string | null {
  const text = textOf(value)
  return text === null ? null : conceal(text).slice(0, maxMessageLength)
}

function jsonOrNull(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}
