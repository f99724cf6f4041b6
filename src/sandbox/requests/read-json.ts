import { RequestRefused } from '../request-refused.ts'

export type JsonObject = Record<string, unknown>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuid.test(value)
}

/** A body's bytes as JSON. @throws {RequestRefused} 400 when they are no UTF-8 or no JSON. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new RequestRefused(400, 'body_malformed', 'The body is not JSON in UTF-8.')
  }
}
