import type { FastifyRequest } from 'fastify'
import type { Contract } from '../../exchange/contract.ts'
import { routePath } from '../server/route-path.ts'

const struck = new WeakMap<FastifyRequest, string[]>()

/** Notes that a profile struck this request; anyone who writes the request's line in the log tells it there. */
export function noteStrike(request: FastifyRequest, name: string): void {
  struck.set(request, [...(struck.get(request) ?? []), name])
}

/** The names of the profiles that struck this request, in the order in which they did, or null. */
export function strikesOn(request: FastifyRequest): string[] | null {
  return struck.get(request) ?? null
}

/**
 * The occasion under which a request is judged: its method and the path of its endpoint, or null where nothing strikes:
 * at the administration of the sandbox, at the description, and where there is no endpoint.
 */
export function createOccasionOf(contract: Contract): (request: FastifyRequest) => string | null {
  const description = routePath(contract.otherEndpoints.description.path)
  return ({ method, routeOptions: { url } }) => {
    if (url === undefined || url === description || url.startsWith('/sandbox/')) return null
    return `${method} ${url}`
  }
}
