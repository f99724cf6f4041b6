import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { combineCrc32 } from '../../src/sandbox/files/crc32-combine.ts'
import { createFileAddresses } from '../../src/sandbox/files/file-address.ts'

describe('signatures', () => {
  const addressesOf = (secret: string) =>
    createFileAddresses({
      secret: Buffer.from(secret),
      baseUrl: () => 'https://files',
      lifetimeMs: 1000,
      now: () => 5_000,
    })

  it('do not survive the change of a single character, the last one included', () => {
    const addresses = addressesOf('secret')
    const { searchParams } = new URL(addresses.sign('token'))
    const { expires = '', signature = '' } = Object.fromEntries(searchParams)
    expect(addresses.judge('token', { expires, signature })).toBe('valid')
    expect(addressesOf('another secret').judge('token', { expires, signature })).toBe('forged')
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let at = 0; at < signature.length; at += 1) {
      for (const letter of alphabet) {
        const changed = `${signature.slice(0, at)}${letter}${signature.slice(at + 1)}`
        if (changed !== signature) expect(addresses.judge('token', { expires, signature: changed })).toBe('forged')
      }
    }
  })

  it('do not let the token and the time run into each other', () => {
    const addresses = addressesOf('secret')
    const { searchParams } = new URL(addresses.sign('token1'))
    const { expires = '', signature = '' } = Object.fromEntries(searchParams)
    expect(addresses.judge('token', { expires: `1${expires}`, signature })).toBe('forged')
  })
})

it('the checksum of two byte strings put together comes from those of the two', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.uint8Array({ maxLength: 3000 }), (first, second) => {
      expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(crc32(Buffer.concat([first, second])))
    }),
  )
})
