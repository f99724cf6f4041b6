import type { Dispatcher } from 'undici'
import type { Contract } from './contract.ts'
import type { Refusal } from './errors.ts'
import { retryAfterMs } from './retry-after.ts'
import { objectOf, textOf } from './wire-value.ts'

/** A longer message helps nobody and would be stored with every row that it concerns. */
const maxMessageLength = 2000

export type RefusedAnswer = {
  status: number
  headers: Dispatcher.ResponseData['headers']
  /** Empty when there was none or it could not be read: the status alone decides. */
  body: Buffer
  nowMs: number
  maxRetryAfterMs: number
}

/** Reads what the service says about a request that it did not carry out. Pure; never throws. Specification: Errors. */
export function readRefusal(contract: Contract, answer: RefusedAnswer): Refusal {
  const names = contract.names.error
  const fields = objectOf(jsonOrNull(answer.body))
  const asked = retryAfterMs(answer.headers['retry-after'], answer.nowMs, answer.maxRetryAfterMs)
  return {
    status: answer.status,
    errorCode: textOf(fields?.[names.errorCode])?.slice(0, maxMessageLength) ?? null,
    serviceMessage: textOf(fields?.[names.message])?.slice(0, maxMessageLength) ?? null,
    retryAfterMs: asked ?? null,
  }
}

function jsonOrNull(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}
