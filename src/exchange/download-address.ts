import { lookup as resolve } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { type AddressKind, addressKind, ipBits, isLoopbackHost } from '../network/address-kind.ts'
import { DownloadFailed, DownloadRefused } from './errors.ts'

type DownloadRules = {
  /** Base address of the service. */
  baseUrl: URL
  /** Host names or addresses that the configuration exempts from the judgement of addresses. */
  allowedHosts: readonly string[]
}

export type DownloadTarget = {
  url: URL
  /** The host without brackets. */
  host: string
  /** The service's own host, or one that the configuration names: its addresses are not judged. */
  trusted: boolean
  /** Scheme, host and port are the service's: the only place where the API key goes. */
  ownOrigin: boolean
}

/**
 * Judges the spelling of a page or file URL, before anything is resolved or connected. Pure.
 * The URL standard has read the host by then: `0x7f.1`, `2130706433` and `0177.0.0.1` are all 127.0.0.1.
 * @returns the target, or the reason for the refusal, without the path and query, which may be credentials.
 */
export function judgeDownloadUrl(
  text: string,
  { baseUrl, allowedHosts }: DownloadRules,
): DownloadTarget | { refused: string } {
  if (!URL.canParse(text)) return { refused: 'it is no absolute URL' }
  const url = new URL(text)
  if (url.protocol === 'http:' && ![baseUrl, url].every((one) => isLoopbackHost(bareHost(one))))
    return { refused: 'http is not allowed, only https' }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { refused: `${url.protocol} is not allowed, only https` }
  if (url.username !== '' || url.password !== '') return { refused: 'the URL carries credentials' }
  const host = bareHost(url)
  const trusted = host === bareHost(baseUrl) || allowedHosts.some((allowed) => host === normalisedHost(allowed))
  return { url, host, trusted, ownOrigin: url.origin === baseUrl.origin }
}

/**
 * Whether an address may be connected to for a host that is not trusted. Pure.
 * A service that stands in a private network itself (`baseKinds`) may keep its files in one, of the same kind.
 */
export function mayConnect(kind: AddressKind, baseKinds: readonly AddressKind[]): boolean {
  return kind === 'public' || (kind !== 'special' && baseKinds.includes(kind))
}

/** A URL's host, an IPv6 literal without its brackets. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

function normalisedHost(host: string): string {
  const spelled = `https://${ipBits(host)?.version === 6 ? `[${host}]` : host}`
  return URL.canParse(spelled) ? bareHost(new URL(spelled)) : host
}

type HostAddress = { address: string; family: number }

/** Resolves a host name to all its addresses. */
export type HostLookup = (host: string) => Promise<HostAddress[]>

export const systemLookup: HostLookup = (host) => resolve(host, { all: true, verbatim: true })

/**
 * Judges an IP literal. Node calls no resolver for one, so this happens before connecting.
 * @throws {DownloadRefused} when it leads where no result file may be.
 * @throws {DownloadFailed} when only the service's own address could tell, and its name cannot be looked up.
 */
export async function judgeLiteral(target: DownloadTarget, baseUrl: URL, lookup: HostLookup): Promise<void> {
  const kind = addressKind(target.host)
  if (kind !== null && !target.trusted) await judgeKinds(target.host, [kind], baseUrl, lookup)
}

/**
 * A resolver for the connection itself: it judges every address of the host and hands over only what it judged, so no
 * second resolution can answer differently. One address in a forbidden network refuses the host.
 */
export function pinnedLookup(target: DownloadTarget, baseUrl: URL, lookup: HostLookup): LookupFunction {
  const judged = callbackify((host: string) => judgedAddresses(host, target, baseUrl, lookup))
  return (host, options, callback) => {
    judged(host, (error, addresses) => {
      if (error) callback(error, [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, addresses[0].address, addresses[0].family)
    })
  }
}

async function judgedAddresses(host: string, target: DownloadTarget, baseUrl: URL, lookup: HostLookup) {
  const [first, ...others] = await lookup(host)
  if (first === undefined) throw new DownloadRefused(target.host, 'its name has no address')
  const addresses: [HostAddress, ...HostAddress[]] = [first, ...others]
  if (!target.trusted) {
    const kinds = addresses.map(({ address }) => addressKind(address) ?? 'special')
    await judgeKinds(target.host, kinds, baseUrl, lookup)
  }
  return addresses
}

async function judgeKinds(host: string, kinds: AddressKind[], baseUrl: URL, lookup: HostLookup): Promise<void> {
  if (kinds.every((kind) => mayConnect(kind, []))) return
  const baseKinds = await kindsOfBase(host, baseUrl, lookup)
  const forbidden = kinds.find((kind) => !mayConnect(kind, baseKinds))
  if (forbidden === undefined) return
  throw new DownloadRefused(host, `its address is ${forbidden}; if the files are meant to be there, allow the host`)
}

/** A look-up that fails passes by itself: it says nothing against the file's host. */
async function kindsOfBase(host: string, baseUrl: URL, lookup: HostLookup): Promise<AddressKind[]> {
  const base = bareHost(baseUrl)
  const literal = addressKind(base)
  if (literal !== null) return [literal]
  const addresses = await lookup(base).catch((cause: unknown) => {
    throw new DownloadFailed(host, `the name of the service itself (${base}) could not be looked up`, { cause })
  })
  return addresses.map(({ address }) => addressKind(address) ?? 'special')
}
