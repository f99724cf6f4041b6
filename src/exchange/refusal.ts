import type { Dispatcher } from 'undici'
import type { Contract } from './contract.ts'
import type { Refusal } from './errors.ts'
import { retryAfterMs } from './retry-after.ts'
import { objectOf, textOf } from './wire-value.ts'

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
