import type { Endpoint } from './contract.ts'

type ServiceAddress = {
  origin: string
  /** Path in front of every endpoint's path; empty, or without a slash at its end. */
  prefix: string
}

/**
 * Reads the base address; its path, if it has one, is kept.
 * @throws {TypeError} when it is no http or https address, or carries credentials.
 */
export function serviceAddress(baseUrl: string): ServiceAddress {
  const url = new URL(baseUrl)
  if (!['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('the base address must be http or https, without credentials')
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/**
 * Address of an endpoint, with `id` in place of its placeholder.
 * @throws {TypeError} for an id of dots alone: encoding leaves dots as they are, and such a path climbs to another
 * endpoint.
 */
export function endpointUrl(address: ServiceAddress, endpoint: Endpoint, id?: string): URL {
  if (id !== undefined && /^\.*$/.test(id)) throw new TypeError(`"${id}" is no id`)
  const path = id === undefined ? endpoint.path : endpoint.path.replace(/\{\w+\}/, () => encodeURIComponent(id))
  return new URL(`${address.origin}${address.prefix}${path}`)
}
