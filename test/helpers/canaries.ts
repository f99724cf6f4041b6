import { demoProfile } from '../../src/sandbox/catalogue/accounts.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { holdsSecret } from './find-secret.ts'

/**
 * In every canary, and nowhere by chance: only letters and digits, so that of all encodings base64 and hexadecimal
 * alone change it.
 */
const mark = 'c4n4ry'

/** A secret with everything that an encoding may change. A space is for passwords only: a header has none. */
export const canary = (place: string, space = '_') => `${mark}-${place}${space}"k\\ey/+%@?#&4711`

/** The secrets that the suite runs with. */
export const canaries = {
  apiKey: canary('key'),
  databasePassword: canary('own', ' '),
  partnerPassword: canary('partner', ' '),
} as const

/** A key of the sandbox's demo profile, the same as `demo-key` but for its text. */
export const canaryKeys = catalogue.apiKeys
  .filter(({ key, profileId }) => key === 'demo-key' && profileId === demoProfile.id)
  .map((apiKey) => ({ ...apiKey, key: canaries.apiKey }))

/** What the mark looks like in base64, by the place where it begins between two borders; and in hexadecimal. */
const marks = [
  mark,
  ...[0, 1, 2].map((before) => {
    const [first, last] = [Math.ceil((before * 8) / 6), Math.floor(((before + mark.length) * 8) / 6)]
    return Buffer.from(`${'x'.repeat(before)}${mark}...`)
      .toString('base64')
      .slice(first, last)
  }),
  Buffer.from(mark).toString('hex'),
]

/** Finds a canary, or a part of one, in any encoding; good for JavaScript and for PostgreSQL. */
export const markPattern = marks.join('|')
const marked = new RegExp(markPattern)

/** An address of a result file with what lets its reader have the file. */
const signedAddress = /[?&]signature=[\w-]{16}/

/** Which secrets a text holds, in any encoding, by name; a part of a secret is one too. */
export function secretsIn(text: string): string[] {
  const signed = signedAddress.test(text) ? ['signature of an address'] : []
  if (!marked.test(text)) return signed
  const whole = Object.entries(canaries).flatMap(([name, secret]) => (holdsSecret(text, secret) ? [name] : []))
  return [...(whole.length > 0 ? whole : ['part of a canary']), ...signed]
}
