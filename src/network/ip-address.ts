import { isIPv4, isIPv6 } from 'node:net'

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
