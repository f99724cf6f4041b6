import type { Dispatcher } from 'undici'
import { AnswerFormatError } from './errors.ts'
import { jsonByte } from './json-bytes.ts'

const { backslash, closeBrace, closeBracket, openBrace, openBracket, quote } = jsonByte

export type AnswerLimits = {
  maxAnswerBytes: number
  /** From the headers to the last byte: a service that sends one byte a second never trips a body time-out. */
  answerTimeoutMs: number
}

/** The answer did not end in the time it had. Counts as a broken transport: the rest may still be under way. */
class AnswerTimeout extends Error {
  readonly code = 'ANSWER_TIMEOUT'
}

/**
 * Reads an answer whole, within its limits.
 * @throws {AnswerFormatError} when it is longer than the limit; the connection is dropped then, not drained.
 * @throws {AnswerTimeout} when it takes longer. What the socket throws passes through.
 */
export async function readAnswer(body: Dispatcher.ResponseData['body'], limits: AnswerLimits): Promise<Buffer> {
  const late = new AnswerTimeout(`the answer took longer than ${limits.answerTimeoutMs} ms`)
  const timer = setTimeout(() => body.destroy(late), limits.answerTimeoutMs)
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > limits.maxAnswerBytes) {
        const what = `the answer is longer than ${limits.maxAnswerBytes} bytes (exchange.maxAnswerBytes)`
        throw new AnswerFormatError(what, { tooLong: true })
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Frameworks nest some 15 levels deep. JSON.parse takes any depth, but writing such a value again, or storing it,
 * fails.
 */
const maxDepth = 200

function nestsDeeper(json: Buffer, limit: number): boolean {
  let depth = 0
  let inText = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (inText) {
      if (byte === backslash) at++
      else if (byte === quote) inText = false
    } else if (byte === quote) inText = true
    else if (byte === openBracket || byte === openBrace) {
      if (++depth > limit) return true
    } else if (byte === closeBracket || byte === closeBrace) depth--
  }
  return false
}

/**
 * Parses an answer as JSON in UTF-8.
 * @throws {AnswerFormatError} for HTML, nesting that no answer has, an empty body, a coding nobody asked for, or bytes
 * that are no UTF-8, which a lenient decoder would alter silently.
 */
export function parseAnswer(bytes: Buffer, headers: Dispatcher.ResponseData['headers']): unknown {
  const coding = headerText(headers['content-encoding'])
  if (coding !== undefined && coding !== 'identity') throw new AnswerFormatError(`the answer is coded as ${coding}`)
  if (nestsDeeper(bytes, maxDepth)) throw new AnswerFormatError(`the answer nests deeper than ${maxDepth} levels`)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    const type = headerText(headers['content-type']) ?? 'no content type'
    throw new AnswerFormatError(`the answer is no JSON (${type}, ${bytes.length} bytes)`, { cause })
  }
}

/** A header's value; the first one when it is repeated. */
export function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** The service's clock minus ours, in milliseconds: it lies between the two. */
export type ClockSkew = { lowMs: number; highMs: number }

/** `Date` has whole seconds: the moment that it names lies within the second that begins then. */
const resolutionMs = 1_000

/**
 * What an answer's `Date` says about the service's clock. Pure. It was written at some moment between the request and
 * the answer, so the longer an answer took the less it says. Null where it says nothing: no date, or an answer from a
 * cache.
 */
export function clockSkew(
  headers: Dispatcher.ResponseData['headers'],
  sentMs: number,
  answeredMs: number,
): ClockSkew | null {
  const at = freshMoment(headers)
  if (at === null || answeredMs < sentMs) return null
  return { lowMs: at - answeredMs, highMs: at + resolutionMs - sentMs }
}

/**
 * Whether a service, and no gateway that could not reach one, has answered without saying what time it is: with no
 * date, or by way of a cache. Pure.
 */
export function showsNoClock(status: number, headers: Dispatcher.ResponseData['headers']): boolean {
  return status < 500 && freshMoment(headers) === null
}

function freshMoment(headers: Dispatcher.ResponseData['headers']): number | null {
  return headers.age === undefined ? serviceMoment(headers) : null
}

/** When the service says that it answered, in milliseconds since 1970; null where it does not say. Pure. */
export function serviceMoment(headers: Dispatcher.ResponseData['headers']): number | null {
  const at = Date.parse(headerText(headers.date) ?? '')
  return Number.isNaN(at) ? null : at
}

/** An answer that was this slow tells too little beside what quicker ones told, in milliseconds. */
const tellingMs = 10_000

/** The skew to go on with after another measurement. Pure. The newest counts, because clocks are set. */
export function newerSkew(before: ClockSkew | null, measured: ClockSkew | null): ClockSkew | null {
  if (measured === null) return before
  return before !== null && measured.highMs - measured.lowMs > tellingMs ? before : measured
}
