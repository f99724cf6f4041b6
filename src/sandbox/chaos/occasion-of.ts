import type { FastifyRequest } from 'fastify'
import type { Contract } from '../../exchange/contract.ts'
import { routePath } from '../server/route-path.ts'

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
