import { describe, expect, it } from 'vitest'
import { concealingKey, secretForms, withoutKey } from '../../src/exchange/secret-forms.ts'

const secret = 'a "b\\c/d+e%f ü?g'

describe('the forms of a secret', () => {
  const forms = secretForms(secret)

  it('the forms of a secret are the secret as it is, and as JSON writes it, once and within a text of JSON', () => {
    expect(forms).toContain(secret)
    expect(forms).toContain('a \\"b\\\\c/d+e%f ü?g')
    expect(forms).toContain('a \\\\\\"b\\\\\\\\c/d+e%f ü?g')
  })

  it('the forms of a secret are what an address makes of it, in capitals and small letters, with a plus for a space, and with its signs left', () => {
    expect(forms).toContain('a%20%22b%5Cc%2Fd%2Be%25f%20%C3%BC%3Fg')
    expect(forms).toContain('a%20%22b%5cc%2fd%2be%25f%20%c3%bc%3fg')
    expect(forms).toContain('a+%22b%5Cc%2Fd%2Be%25f+%C3%BC%3Fg')
    expect(forms).toContain('a%20%22b%5Cc/d+e%25f%20%C3%BC?g')
  })

  it.each([0, 1, 2])(
    'the forms of a secret are in base64 all that it alone decides, %i bytes after a border, in both alphabets',
    (offset) => {
      const bytes = '\u00fb\u00ef\u00be-key>>>???-4711'
      const found = secretForms(bytes)
      const text = Buffer.from(`${'x'.repeat(offset)}${bytes}yz`).toString('base64')
      const longest = (alphabet: string) =>
        Math.max(0, ...found.filter((form) => alphabet.includes(form)).map(({ length }) => length))
      // All but the characters that share bits with what stands before and behind.
      const whole = Math.floor(Buffer.byteLength(bytes) / 3) * 4 - 4
      expect(longest(text)).toBeGreaterThanOrEqual(whole)
      expect(longest(text.replaceAll('+', '-').replaceAll('/', '_'))).toBeGreaterThanOrEqual(whole)
      expect(text).toMatch(/[+/]/)
    },
  )

  it('come longest first, each once, so that none hides a part of another', () => {
    const lengths = forms.map(({ length }) => length)
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a))
    expect(new Set(secretForms('plain')).size).toBe(secretForms('plain').length)
  })

  it('a short secret has no form in base64 that could stand anywhere by chance', () => {
    // A byte after a border NlY3Jl is left of it, which counts; two bytes after one it is a character less.
    expect(secretForms('secret')).toEqual(['c2VjcmV0', 'secret', 'NlY3Jl'])
    expect(secretForms('abc').every((form) => form === 'abc')).toBe(true)
  })
})

describe('a text of the service', () => {
  it('has the key replaced in every form, and keeps everything else', () => {
    const conceal = concealingKey(secret)
    const encoded = encodeURIComponent(secret)
    expect(conceal(`key ${secret} and ${encoded}, ${secret}.`)).toBe('key [API key] and [API key], [API key].')
    expect(conceal('nothing here')).toBe('nothing here')
  })
})

describe('JSON of the service', () => {
  const key = 'key-of-service-4711'

  it('JSON of the service that repeats the key has it replaced in names, texts, lists and objects, and nothing else', () => {
    const json = { a: [`x ${key}`, 7, null, true, { [key]: key }], b: 'well' }
    expect(withoutKey(json, key)).toEqual({
      a: ['x [API key]', 7, null, true, { '[API key]': '[API key]' }],
      b: 'well',
    })
  })

  it.each<[string, unknown]>([
    ['a text', `${key}!`],
    ['a list', [[`${key}!`]]],
    ['a member', { a: { b: `${key}!` } }],
    ['a name', { a: [{ [key]: 1 }] }],
    ['base64', { a: Buffer.from(`user:${key}xyz`).toString('base64') }],
  ])('repeats the key in %s', (_, json) => {
    expect(withoutKey(json, key)).not.toBe(json)
    expect(JSON.stringify(withoutKey(json, key))).not.toContain(key)
  })

  it.each<[unknown]>([[null], [7], ['well'], [[{ a: 'well' }]], [{ a: null }], [undefined]])(
    'JSON of the service that does not is the same value: %j',
    (json) => {
      expect(withoutKey(json, key)).toBe(json)
    },
  )

  it('JSON of the service is not altered for a key that may stand in it by chance, and is for one of twelve characters', () => {
    expect(withoutKey('Hotel demo-key', 'demo-key')).toBe('Hotel demo-key')
    expect(withoutKey('elevenchars twelve-chars', 'elevenchars')).toBe('elevenchars twelve-chars')
    expect(withoutKey('elevenchars twelve-chars', 'twelve-chars')).toBe('elevenchars [API key]')
  })
})
