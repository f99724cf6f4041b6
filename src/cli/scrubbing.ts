import { Writable } from 'node:stream'
import { secretForms } from '../exchange/secret-forms.ts'
import { readableLog } from './show/readable.ts'

/** What stands where a secret stood. */
const mask = '********'

/** In an address of a file, what lets its reader have the file: nobody can know these by their value. */
const signedParameter = /([?&](?:[\w-]*signature|[\w-]*credential|[\w-]*token|sig)=)[^&\s"'\\<>]+/gi

/**
 * A stream that writes log lines on to another with every secret replaced, in every form in which it may be written,
 * and with what could drive a terminal escaped. The last line of defence: nothing should put a secret into a line in
 * the first place.
 * @param secrets may grow: a configuration that is read again may contain new ones.
 */
export function scrubbing(to: Writable, secrets: readonly string[]): Writable {
  let clean = conceal(secrets)
  let known = secrets.length
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, callback) {
      if (secrets.length !== known) {
        clean = conceal(secrets)
        known = secrets.length
      }
      to.write(readableLog(clean(String(chunk))))
      callback()
    },
  })
}

/**
 * Replaces secrets in a text, in every form in which they may stand, and in addresses what lets their reader in.
 */
export function conceal(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.flatMap(secretForms).toSorted((a, b) => b.length - a.length)
  return (text) =>
    forms.reduce((left, form) => left.replaceAll(form, mask), text).replaceAll(signedParameter, `$1${mask}`)
}
