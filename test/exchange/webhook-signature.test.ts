import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  createWebhookVerifier,
  type SignedDelivery,
  type Verification,
  WebhookSecretError,
} from '../../src/exchange/webhook-signature.ts'
import { signed, vectors } from './standard-webhooks-vectors.ts'

const nowMs = Date.UTC(2026, 10, 21, 2)
const nowSeconds = nowMs / 1000
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const otherSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const verifier = createWebhookVerifier([secret], () => nowMs)

/** The signature written down once more, independently of the program's. */
function entry(by: string, id: string, timestamp: string, body: Uint8Array): string {
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'latin1'), body])
  return `v1,${createHmac('sha256', Buffer.from(by.slice(6), 'base64'))
    .update(content)
    .digest('base64')}`
}

type Delivery = SignedDelivery & { id: string; timestamp: string; signature: string }

function delivery(changes: Partial<Delivery> = {}, by = secret): Delivery {
  const { id = 'e-1', timestamp = String(nowSeconds), body = Buffer.from('{"a":1}') } = changes
  return { id, timestamp, body, signature: changes.signature ?? entry(by, id, timestamp, body) }
}

const refused = (reason: string): unknown => ({ verified: false, reason })

describe('the test vectors of Standard Webhooks', () => {
  it.each(vectors)('$title: verifies is $verifies', ({ headers = {}, ageSeconds = 0, verifies }) => {
    const verify = createWebhookVerifier([signed.secret], () => (signed.timestamp + ageSeconds) * 1000)
    const header = (changed: string | null | undefined, good: string) =>
      changed === undefined ? good : (changed ?? undefined)
    const verification = verify({
      id: header(headers.id, signed.id),
      timestamp: header(headers.timestamp, String(signed.timestamp)),
      signature: header(headers.signature, signed.signature),
      body: Buffer.from(signed.body),
    })
    expect(verification.verified).toBe(verifies)
  })

  it('verifies what the package standardwebhooks signs, whatever the body', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 64 }), fc.uuid(), fc.string(), (key, id, text) => {
        const own = `whsec_${Buffer.from(key).toString('base64')}`
        const signature = new Webhook(own).sign(id, new Date(nowMs), text)
        const verify = createWebhookVerifier([own], () => nowMs)
        const body = Buffer.from(text.toWellFormed(), 'utf8')
        expect(verify({ id, timestamp: String(nowSeconds), signature, body })).toEqual({ verified: true })
      }),
    )
  })
})

describe('the body', () => {
  it('the body is verified as bytes, also where they are no UTF-8', () => {
    const body = Uint8Array.of(0x7b, 0xff, 0xfe, 0x00, 0x7d)
    expect(verifier(delivery({ body }))).toEqual({ verified: true })
    const sameText = Buffer.from(Buffer.from(body).toString('utf8'), 'utf8')
    expect(verifier({ ...delivery({ body }), body: sameText })).toEqual(refused('signature_mismatch'))
  })

  it('may be empty', () => {
    expect(verifier(delivery({ body: Buffer.alloc(0) }))).toEqual({ verified: true })
  })

  it('the body is not verified when JSON wrote it again', () => {
    const sent = delivery({ body: Buffer.from('{"a": 1}') })
    expect(verifier({ ...sent, body: Buffer.from('{"a":1}') })).toEqual(refused('signature_mismatch'))
  })
})

describe('the timestamp', () => {
  it.each([
    [-300, { verified: true }],
    [-301, refused('timestamp_too_new')],
    [0, { verified: true }],
    [300, { verified: true }],
    [301, refused('timestamp_too_old')],
  ])('a timestamp of a delivery that is %d seconds old gives %j', (age, verification) => {
    expect(verifier(delivery({ timestamp: String(nowSeconds - age) }))).toEqual(verification)
  })

  it('the timestamp is compared in whole seconds', () => {
    const late = createWebhookVerifier([secret], () => nowMs + 300_999)
    expect(late(delivery())).toEqual({ verified: true })
    const later = createWebhookVerifier([secret], () => nowMs + 301_000)
    expect(later(delivery())).toEqual(refused('timestamp_too_old'))
  })

  const stamp = String(nowSeconds)
  it.each([
    `${stamp}.evil`,
    `${stamp}.0`,
    `${stamp}e0`,
    ` ${stamp}`,
    `${stamp} `,
    `${stamp}\n`,
    `+${stamp}`,
    `-${stamp}`,
    `0x${nowSeconds.toString(16)}`,
    `${stamp}n`,
    '',
    'NaN',
    '9'.repeat(16),
    '１７９５２３０４００',
  ])('%j is refused, although it is signed', (timestamp) => {
    expect(verifier(delivery({ timestamp }))).toEqual(refused('timestamp_malformed'))
  })
})

describe('the id', () => {
  it.each(['', 'a.b', 'a b', 'ä', 'a\n', 'x'.repeat(257)])('%j is refused, although it is signed', (id) => {
    expect(verifier(delivery({ id }))).toEqual(refused('id_malformed'))
  })
})

describe('the signature header', () => {
  const good = delivery()
  const digest = good.signature.slice(3)
  it.each<[string, string, Verification]>([
    ['the entry of another secret', delivery({}, otherSecret).signature, refused('signature_mismatch') as Verification],
    ['an entry of version v2', `v2,${digest}`, refused('no_v1_signature') as Verification],
    ['an entry of version v1a', `v1a,${digest}`, refused('no_v1_signature') as Verification],
    ['an entry of version V1', `V1,${digest}`, refused('no_v1_signature') as Verification],
    ['an entry without a version', digest, refused('no_v1_signature') as Verification],
    ['nothing', '', refused('no_v1_signature') as Verification],
    ['an entry without padding', `v1,${digest.slice(0, -1)}`, refused('signature_mismatch') as Verification],
    ['an entry with more behind it', `v1,${digest}A`, refused('signature_mismatch') as Verification],
    ['an entry with a second one behind a comma', `v1,${digest},x`, refused('signature_mismatch') as Verification],
    ['the first character only', `v1,${digest.slice(0, 1)}`, refused('signature_mismatch') as Verification],
    ['an entry behind a tab', `\tv1,${digest}`, refused('no_v1_signature') as Verification],
    ['a multibyte text of the right length', `v1,${'ä'.repeat(22)}`, refused('signature_mismatch') as Verification],
    ['the good entry behind a bad one', `v1,AAAA v1,${digest}`, { verified: true }],
    ['the good entry behind two spaces', `v2,x  v1,${digest}`, { verified: true }],
    ['the good entry a hundred times', Array(100).fill(`v1,${digest}`).join(' '), { verified: true }],
  ])('a signature header with %s is judged rightly', (_what, signature, verification) => {
    expect(verifier({ ...good, signature })).toEqual(verification)
  })

  it('the signature header is refused where its last character decodes to the same bytes and is another', () => {
    const last = digest.at(-2) ?? ''
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const twin = `${digest.slice(0, -2)}${alphabet[alphabet.indexOf(last) ^ 1]}=`
    expect(Buffer.from(twin, 'base64')).toEqual(Buffer.from(digest, 'base64'))
    expect(verifier({ ...good, signature: `v1,${twin}` })).toEqual(refused('signature_mismatch'))
  })

  it.each(['id', 'timestamp', 'signature'] as const)(
    'a delivery without one of the other headers is refused: %s',
    (header) => {
      expect(verifier({ ...good, [header]: undefined })).toEqual(refused('header_missing'))
    },
  )
})

describe('any change', () => {
  it('a change of one bit in the body, the id, the timestamp or the signature is refused', () => {
    const content = fc.record({
      id: fc.uuid(),
      body: fc.uint8Array({ minLength: 1, maxLength: 200 }),
      age: fc.integer({ min: -300, max: 300 }),
    })
    const flips = fc.record({ place: fc.constantFrom('id', 'timestamp', 'signature', 'body'), at: fc.nat() })
    fc.assert(
      fc.property(content, flips, ({ id, body, age }, { place, at }) => {
        const good = delivery({ id, body, timestamp: String(nowSeconds - age) })
        expect(verifier(good)).toEqual({ verified: true })
        const bytes = place === 'body' ? Buffer.from(good.body) : Buffer.from(String(good[place as 'id']), 'latin1')
        const bit = at % (bytes.length * 8)
        bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
        const changed = place === 'body' ? { ...good, body: bytes } : { ...good, [place]: bytes.toString('latin1') }
        expect(verifier(changed).verified).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })

  it('any change that moves the border between id, timestamp and body is refused', () => {
    const body = Buffer.from(`${nowSeconds}.{}`)
    const good = delivery({ id: 'e', timestamp: String(nowSeconds), body })
    const moved = { ...good, id: `e.${nowSeconds}`, body: Buffer.from('{}') }
    expect(verifier(moved).verified).toBe(false)
  })
})

describe('several secrets', () => {
  it('several secrets are tried all, in any order', () => {
    for (const secrets of [
      [secret, otherSecret],
      [otherSecret, secret],
    ]) {
      const verify = createWebhookVerifier(secrets, () => nowMs)
      expect(verify(delivery())).toEqual({ verified: true })
      expect(verify(delivery({}, otherSecret))).toEqual({ verified: true })
      expect(verify(delivery({}, `whsec_${Buffer.alloc(32, 9).toString('base64')}`)).verified).toBe(false)
    }
  })

  it('let a delivery through that is signed with old and new during a rotation', () => {
    const both = `${delivery({}, otherSecret).signature} ${delivery().signature}`
    expect(verifier(delivery({ signature: both }))).toEqual({ verified: true })
  })
})

describe('a verifier is not made', () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64')
  it.each<[string, string[]]>([
    ['without secrets', []],
    ['with an empty secret', ['']],
    ['with a secret without its prefix', [base64(32)]],
    ['with another prefix', [`WHSEC_${base64(32)}`]],
    ['with white space before it', [` whsec_${base64(32)}`]],
    ['with a line break behind it', [`whsec_${base64(32)}\n`]],
    ['with the prefix alone', ['whsec_']],
    ['with one byte', ['whsec_AA==']],
    ['with fifteen bytes', [`whsec_${base64(15)}`]],
    ['with something that is not base64', [`whsec_${'?'.repeat(44)}`]],
    ['with base64 of the other alphabet', [`whsec_${'-_'.repeat(16)}`]],
    ['with base64 without its padding', [`whsec_${base64(32).slice(0, -1)}`]],
    ['with a good secret beside a bad one', [`whsec_${base64(32)}`, 'whsec_AA==']],
  ])('%s', (_what, secrets) => {
    expect(() => createWebhookVerifier(secrets, () => nowMs)).toThrow(WebhookSecretError)
    try {
      createWebhookVerifier(secrets, () => nowMs)
    } catch (error) {
      expect(error).toMatchObject({ code: 'webhook_secret_invalid' })
      for (const given of secrets.filter((text) => text.length > 10))
        expect(String(error)).not.toContain(given.slice(6))
    }
  })

  it.each<[string, string[], string]>([
    ['there is none', [], 'There is no webhook secret'],
    ['its prefix is missing', [base64(32)], 'Webhook secret does not begin with whsec_'],
    ['it is no base64', [`whsec_${'?'.repeat(44)}`], 'Webhook secret is not base64'],
    ['it is too short', [`whsec_${base64(15)}`], 'Webhook secret has fewer than 16 bytes'],
    ['the second of two is too short', [secret, 'whsec_AA=='], 'Webhook secret 2 has fewer than 16 bytes'],
    ['the first of two has no prefix', ['AA==', secret], 'Webhook secret 1 does not begin with whsec_'],
  ])('the error says why no verifier is made and what to use: %s', (_, secrets, problem) => {
    const advice = 'Use the secret as the service shows it, with its prefix whsec_'
    expect(() => createWebhookVerifier(secrets, () => nowMs)).toThrow(
      expect.objectContaining({ name: 'WebhookSecretError', message: `${problem}. ${advice}` }),
    )
  })

  it('a verifier is made with sixteen bytes', () => {
    const shortest = `whsec_${base64(16)}`
    expect(createWebhookVerifier([shortest], () => nowMs)(delivery({}, shortest))).toEqual({ verified: true })
  })
})
