import { isIPv4, isIPv6 } from 'node:net'

/**
 * Where an address leads.
 * `translated`: to a public IPv4 address by way of IPv6. `special`: nowhere that a result file can be.
 */
export type AddressKind = 'public' | 'loopback' | 'private' | 'link_local' | 'translated' | 'special'

/** IANA special-purpose registries. An entry that is missing lets a page URL reach into the partner's own network. */
const ranges4 = table([
  ['0.0.0.0/8', 'special'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'private'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link_local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'special'],
  ['192.0.2.0/24', 'special'],
  ['192.31.196.0/24', 'special'],
  ['192.52.193.0/24', 'special'],
  ['192.88.99.0/24', 'special'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'special'],
  ['198.18.0.0/15', 'special'],
  ['198.51.100.0/24', 'special'],
  ['203.0.113.0/24', 'special'],
  ['224.0.0.0/3', 'special'],
])

/** Only 2000::/3 is allocated, so everything outside it that has no entry is special. */
const ranges6 = table([
  ['::1/128', 'loopback'],
  ['fe80::/10', 'link_local'],
  ['fec0::/10', 'private'],
  ['fc00::/7', 'private'],
  ['2001::/23', 'special'],
  ['2001:db8::/32', 'special'],
  ['3fff::/20', 'special'],
  ['2000::/3', 'public'],
])

/** IPv6 ranges that carry an IPv4 address, and how many bits follow it. */
const embeddings: [prefix: IpBits, length: number, after: bigint][] = [
  ['::ffff:0:0/96', 0n],
  ['::ffff:0:0:0/96', 0n],
  ['64:ff9b::/96', 0n],
  ['2002::/16', 80n],
  ['::/96', 0n],
].map(([range, after]) => [...cidr(String(range)), BigInt(after ?? 0n)])

/**
 * Where an IP address leads; null when the text is no IP address. Pure. An address in an address is judged by what it
 * carries.
 */
export function addressKind(text: string): AddressKind | null {
  const address = ipBits(text)
  if (address === null) return null
  if (address.version === 4) return kindIn(ranges4, address) ?? 'public'
  const listed = kindIn(ranges6, address)
  const embedding = embeddings.find(([prefix, length]) => hasPrefix(address, prefix, length))
  if (listed === 'loopback' || embedding === undefined) return listed ?? 'special'
  const carried: IpBits = { version: 4, bits: (address.bits >> embedding[2]) & 0xffffffffn }
  const kind = kindIn(ranges4, carried) ?? 'public'
  return kind === 'public' ? 'translated' : kind
}

/** Whether a host, an IPv6 literal without its brackets, is this machine by its very spelling. Pure. */
export function isLoopbackHost(host: string): boolean {
  return addressKind(host) === 'loopback' || host === 'localhost' || host.endsWith('.localhost')
}

type Range = [prefix: IpBits, length: number, kind: AddressKind]

function table(entries: [range: string, kind: AddressKind][]): Range[] {
  return entries.map(([range, kind]) => [...cidr(range), kind])
}

function cidr(range: string): [prefix: IpBits, length: number] {
  const [address = '', length] = range.split('/')
  const prefix = ipBits(address)
  if (prefix === null) throw new TypeError(`${range} is no range of addresses`)
  return [prefix, Number(length)]
}

function kindIn(ranges: Range[], address: IpBits): AddressKind | undefined {
  return ranges.find(([prefix, length]) => hasPrefix(address, prefix, length))?.[2]
}

/** An address as its bits: 32 for IPv4, 128 for IPv6. */
export type IpBits = { version: 4 | 6; bits: bigint }

/** Reads an IP address in any spelling of its version, with or without a zone; null when it is none. Pure. */
export function ipBits(text: string): IpBits | null {
  const address = text.replace(/%.*$/s, '')
  if (isIPv4(address)) return { version: 4, bits: joined(address.split('.').map(Number), 8n) }
  return isIPv6(address) ? { version: 6, bits: joined(ipv6Groups(address), 16n) } : null
}

/** Whether the first `length` bits of an address are those of `prefix`. */
export function hasPrefix(address: IpBits, prefix: IpBits, length: number): boolean {
  if (address.version !== prefix.version) return false
  const shift = BigInt((address.version === 4 ? 32 : 128) - length)
  return address.bits >> shift === prefix.bits >> shift
}

/** The eight groups of an address that `net.isIPv6` accepts. */
function ipv6Groups(address: string): number[] {
  const hexadecimal = address.replace(/\d+\.\d+\.\d+\.\d+$/, (tail) => {
    const [a = 0, b = 0, c = 0, d = 0] = tail.split('.').map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [head = '', tail] = hexadecimal.split('::')
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  const missing = tail === undefined ? 0 : 8 - before.length - after.length
  return [...before, ...Array.from({ length: missing }, () => 0), ...after]
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

function joined(parts: number[], width: bigint): bigint {
  return parts.reduce((bits, part) => (bits << width) | BigInt(part), 0n)
}
