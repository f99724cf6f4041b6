import type { FastifyReply } from 'fastify'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { pickCase } from './profile.ts'
import { rateLimited, requestProfile, serverErrors } from './profiles.ts'

/** What is done to a request instead of looking at it. */
export type Refusal = { name: string; refuse: (reply: FastifyReply) => RequestRefused } | { name: string; reset: true }

/** The longest that a Retry-After asks for. */
const longestRetrySeconds = 3

const errors = {
  '500': { status: 500, code: 'internal_error', message: 'The request could not be handled.' },
  '502': { status: 502, code: 'bad_gateway', message: 'The service gave no answer that could be passed on.' },
  '503': { status: 503, code: 'service_unavailable', message: 'The service cannot answer at the moment.' },
  '504': { status: 504, code: 'gateway_timeout', message: 'The service took too long.' },
} as const

/** The first refusal that strikes, in the order: reset, 401, 429, 5xx. */
export function strikeRefusal({ chaos, clock }: Sandbox, occasion: string): Refusal | null {
  const { resetBefore, unauthorised } = requestProfile
  if (chaos.strikes(resetBefore.name, occasion)) return { name: resetBefore.name, reset: true }
  if (chaos.strikes(unauthorised.name, occasion)) {
    const refused = new RequestRefused(401, 'api_key_unknown', 'The API key in the Authorization header is unknown.')
    return { name: unauthorised.name, refuse: () => refused }
  }
  const limited = pickCase(chaos, rateLimited, occasion)
  if (limited) {
    const seconds = 1 + Math.floor(chaos.measure(limited.name, occasion) * longestRetrySeconds)
    const retryAfter = {
      seconds: String(seconds),
      date: new Date(clock.wallNow() + seconds * 1000).toUTCString(),
      nonsense: 'in a little while',
    }[limited.case]
    return {
      name: limited.name,
      refuse: (reply) => {
        void reply.header('retry-after', retryAfter)
        return new RequestRefused(429, 'rate_limited', 'There were too many requests.')
      },
    }
  }
  const failed = pickCase(chaos, serverErrors, occasion)
  if (!failed) return null
  const { status, code, message } = errors[failed.case]
  return { name: failed.name, refuse: () => new RequestRefused(status, code, message) }
}
