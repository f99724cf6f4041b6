import { Writable } from 'node:stream'
import { readableLog } from './readable.ts'

/** What stands where a secret stood. */
const mask = '********'

/**
 * A stream that writes log lines on to another with every secret replaced, as plain text and as JSON writes it, and
 * with what could drive a terminal escaped. The last line of defence: nothing should put a secret into a line in the
 * first place.
 */
export function scrubbing(to: Writable, secrets: readonly string[]): Writable {
  const forms = new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, callback) {
      let text = String(chunk)
      for (const form of forms) text = text.replaceAll(form, mask)
      to.write(readableLog(text))
      callback()
    },
  })
}
