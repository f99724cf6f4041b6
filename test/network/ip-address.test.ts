import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressKind, hasPrefix, type IpBits, ipBits } from '../../src/network/address-kind.ts'

function ipv4Of(bits: number): string {
  return [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255].join('.')
}

/** A spelling of an IPv6 address: in full, or with one run of zero groups left out, in either case. */
function spell(groups: readonly number[], short: boolean, upper: boolean): string {
  const words = groups.map((group) => group.toString(16))
  const from = words.indexOf('0')
  let text = words.join(':')
  if (short && from >= 0) {
    let to = from
    while (words[to] === '0') to += 1
    text = `${words.slice(0, from).join(':')}::${words.slice(to).join(':')}`
  }
  return upper ? text.toUpperCase() : text
}

const bits4 = fc.integer({ min: 0, max: 0xffffffff })
const groups6 = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })

describe('ipBits', () => {
  it('reads every IPv4 address as its 32 bits', () => {
    fc.assert(
      fc.property(bits4, (bits) => {
        expect(ipBits(ipv4Of(bits))).toEqual({ version: 4, bits: BigInt(bits) })
      }),
    )
  })

  it('reads every spelling of an IPv6 address as the same 128 bits, with a zone or without', () => {
    fc.assert(
      fc.property(groups6, fc.boolean(), fc.boolean(), fc.boolean(), (groups, short, upper, zone) => {
        const bits = groups.reduce((read, group) => (read << 16n) | BigInt(group), 0n)
        expect(ipBits(`${spell(groups, short, upper)}${zone ? '%eth0' : ''}`)).toEqual({ version: 6, bits })
      }),
    )
  })

  it('reads a tail in the form of IPv4 as the last 32 bits', () => {
    fc.assert(
      fc.property(bits4, (bits) => {
        expect(ipBits(`::ffff:${ipv4Of(bits)}`)).toEqual({ version: 6, bits: (0xffffn << 32n) | BigInt(bits) })
      }),
    )
  })

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '0x7f.0.0.1',
    '01.2.3.4',
    '1:2:3',
    '::1::',
    'g::',
    '1.2.3.4:80',
    '[::1]',
  ])('does not take %j for an address', (text) => {
    expect(ipBits(text)).toBeNull()
  })
})

describe('hasPrefix', () => {
  const address = (text: string): IpBits => ipBits(text) ?? { version: 4, bits: -1n }

  it('compares the first bits and no others', () => {
    expect(hasPrefix(address('10.1.2.3'), address('10.0.0.0'), 8)).toBe(true)
    expect(hasPrefix(address('10.1.2.3'), address('10.0.0.0'), 16)).toBe(false)
    expect(hasPrefix(address('fe80::1'), address('fe80::'), 10)).toBe(true)
    expect(hasPrefix(address('fec0::1'), address('fe80::'), 10)).toBe(false)
  })

  it('holds no IPv4 address for one of IPv6, whatever the bits', () => {
    expect(hasPrefix(address('0.0.0.1'), address('::1'), 0)).toBe(false)
  })
})

describe('addressKind', () => {
  it('judges an address that carries an IPv4 address by what it carries, and never as public', () => {
    fc.assert(
      fc.property(bits4, (bits) => {
        const carried = ipv4Of(bits)
        const kind = addressKind(carried)
        for (const carrier of [`::ffff:${carried}`, `64:ff9b::${carried}`, `::ffff:0:${carried}`]) {
          expect(addressKind(carrier)).toBe(kind === 'public' ? 'translated' : kind)
        }
      }),
    )
  })

  it('has a kind for every address', () => {
    const addresses = fc.oneof(
      groups6.map((groups) => spell(groups, false, false)),
      bits4.map(ipv4Of),
    )
    fc.assert(
      fc.property(addresses, (address) => {
        expect(addressKind(address)).not.toBeNull()
      }),
    )
  })
})
