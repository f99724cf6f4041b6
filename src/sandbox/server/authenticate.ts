import type { FastifyRequest } from 'fastify'
import type { ApiKey } from '../catalogue/accounts.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'

/**
 * The key that a request carries. The header's value is the key itself, without a scheme (specification,
 * Authentication).
 * @throws {RequestRefused} 401. Spec gap: the answer to a missing or unknown key is not shown, docs/spec-gaps.md.
 */
export function authenticate({ apiKeys }: Sandbox, request: FastifyRequest): ApiKey {
  const given = request.headers.authorization
  if (given === undefined || given === '') {
    throw new RequestRefused(401, 'api_key_missing', 'The Authorization header must carry an API key.')
  }
  const apiKey = apiKeys.get(given)
  if (!apiKey) throw new RequestRefused(401, 'api_key_unknown', 'The API key in the Authorization header is unknown.')
  return apiKey
}

/** The key's profile, or null; for the request log, which also holds refused requests. */
export function profileOf({ apiKeys }: Sandbox, request: FastifyRequest): number | null {
  return apiKeys.get(request.headers.authorization ?? '')?.profileId ?? null
}
