import type { FastifyRequest } from 'fastify'

const struck = new WeakMap<FastifyRequest, string[]>()

/** Notes that a profile struck this request; anyone who writes the request's line in the log tells it there. */
export function noteStrike(request: FastifyRequest, name: string): void {
  struck.set(request, [...(struck.get(request) ?? []), name])
}

/** The names of the profiles that struck this request, in the order in which they did, or null. */
export function strikesOn(request: FastifyRequest): string[] | null {
  return struck.get(request) ?? null
}
