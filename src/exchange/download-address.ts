import { type AddressKind, addressKind } from '../network/address-kind.ts'
import { ipBits } from '../network/ip-address.ts'

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
  if (url.protocol === 'http:' && !isLoopbackHost(bareHost(baseUrl)))
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
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

function normalisedHost(host: string): string {
  const spelled = `https://${ipBits(host)?.version === 6 ? `[${host}]` : host}`
  return URL.canParse(spelled) ? bareHost(new URL(spelled)) : host
}

function isLoopbackHost(host: string): boolean {
  return addressKind(host) === 'loopback' || host === 'localhost' || host.endsWith('.localhost')
}
