import { createHmac, timingSafeEqual } from 'node:crypto'

export type FileAddresses = {
  /** Where a file is had from this moment until its lifetime has passed. */
  sign(token: string): string
  /** What the query of a request for the file is worth at this moment. */
  judge(token: string, query: Readonly<Record<string, unknown>>): 'valid' | 'expired' | 'forged'
}

/** What an address is made of: its origin can change while the secret, which the world keeps, stays. */
type SigningOptions = {
  secret: Uint8Array
  /** Origin, and path if any, in front of `/files/…`. */
  baseUrl: () => string
  lifetimeMs: number
  now: () => number
}

/**
 * Signed addresses that expire: `/files/<token>?expires=<Unix seconds>&signature=<base64url of an HMAC-SHA256>`. The
 * signature covers the token and the time, so neither can be exchanged, and it is the only permission that is needed.
 */
export function createFileAddresses({ secret, baseUrl, lifetimeMs, now }: SigningOptions): FileAddresses {
  const signatureOf = (token: string, expires: string) =>
    createHmac('sha256', secret).update(`${token}\n${expires}`).digest('base64url')
  return {
    sign: (token) => {
      const expires = String(Math.ceil((now() + lifetimeMs) / 1000))
      return `${baseUrl()}/files/${token}?expires=${expires}&signature=${signatureOf(token, expires)}`
    },
    judge: (token, { expires, signature }) => {
      if (typeof expires !== 'string' || typeof signature !== 'string') return 'forged'
      if (!/^\d{1,12}$/.test(expires) || !isSameText(signature, signatureOf(token, expires))) return 'forged'
      return now() <= Number(expires) * 1000 ? 'valid' : 'expired'
    },
  }
}

/** In a time that tells nothing of where two texts differ. The text, not its bytes: base64 has several for the same. */
function isSameText(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given, 'utf8'), Buffer.from(expected, 'utf8')]
  return left.length === right.length && timingSafeEqual(left, right)
}
