import { lookup as resolve } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { addressKind } from '../../network/address-kind.ts'

export type TargetAddress = { address: string; family: number }

/** Resolves a host name to all its addresses. */
export type TargetLookup = (host: string) => Promise<TargetAddress[]>

export const systemLookup: TargetLookup = (host) => resolve(host, { all: true, verbatim: true })

/** A webhook's address, or where it leads, is not allowed. */
export class TargetRefused extends Error {
  readonly code = 'webhook_target_refused'

  constructor(reason: string) {
    super(`The URL of a webhook must lead to the public internet by HTTPS, but ${reason}.`)
    this.name = 'TargetRefused'
  }
}

/** Characters of a URL as it was sent; specification, Limits. */
export const maxUrlLength = 2048

/**
 * Judges the spelling of a webhook's URL, and its host where that is an IP literal, before anything is resolved or
 * connected. Pure. The URL standard has read the host by then: `0x7f.1`, `2130706433` and `0177.0.0.1` are 127.0.0.1.
 * @param allowInsecure lets http and every address through, and nothing else.
 * @throws {TargetRefused} with a reason that never repeats what may be credentials.
 */
export function judgeUrl(text: string, allowInsecure: boolean): URL {
  if (!URL.canParse(text)) throw new TargetRefused('this is no absolute URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(allowInsecure && url.protocol === 'http:')) {
    throw new TargetRefused(`the scheme of this one is ${url.protocol.slice(0, -1)}`)
  }
  if (url.username !== '' || url.password !== '') throw new TargetRefused('this one carries credentials')
  const kind = addressKind(bareHost(url))
  if (kind !== null && kind !== 'public' && !allowInsecure) throw new TargetRefused(`this address is ${kind}`)
  return url
}

/**
 * Resolves a host name and judges every address that it has: one in a private or reserved network refuses the host.
 * @throws {TargetRefused} also when the name has no address, or cannot be resolved.
 */
export async function judgedAddresses(
  host: string,
  { lookup, allowInsecure }: { lookup: TargetLookup; allowInsecure: boolean },
): Promise<[TargetAddress, ...TargetAddress[]]> {
  const [first, ...others] = await lookup(host).catch((error: NodeJS.ErrnoException) => {
    throw new TargetRefused(`its host name cannot be resolved (${error.code ?? error.message})`)
  })
  if (first === undefined) throw new TargetRefused('its host name has no address')
  const addresses: [TargetAddress, ...TargetAddress[]] = [first, ...others]
  const kinds = addresses.map(({ address }) => addressKind(address) ?? 'special')
  const forbidden = kinds.find((kind) => kind !== 'public')
  if (forbidden !== undefined && !allowInsecure) {
    throw new TargetRefused(`its host name resolves to an address that is ${forbidden}`)
  }
  return addresses
}

/**
 * Everything that configuration judges: the length, the spelling, and where the host name leads at this moment. A
 * delivery goes by the URL as it is spelt afterwards, which may be longer.
 */
export async function judgeTarget(text: string, rules: { lookup: TargetLookup; allowInsecure: boolean }): Promise<URL> {
  if (text.length > maxUrlLength) throw new TargetRefused(`this one is longer than ${maxUrlLength} characters`)
  const url = judgeUrl(text, rules.allowInsecure)
  if (!rules.allowInsecure && addressKind(bareHost(url)) === null) await judgedAddresses(bareHost(url), rules)
  return url
}

/**
 * A resolver for the connection itself: it hands over only addresses that it judged, so no second resolution can
 * answer differently. Node never calls it for IP literals, which `judgeUrl` has judged.
 */
export function pinnedLookup(rules: { lookup: TargetLookup; allowInsecure: boolean }): LookupFunction {
  const judged = callbackify((host: string) => judgedAddresses(host, rules))
  return (host, options, callback) => {
    judged(host, (error, addresses) => {
      if (error) callback(error, [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, addresses[0].address, addresses[0].family)
    })
  }
}

/** A URL's host, an IPv6 literal without its brackets. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}
