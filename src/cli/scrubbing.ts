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
 */
export function scrubbing(to: Writable, secrets: readonly string[]): Writable {
  const forms = secrets.flatMap(secretForms).toSorted((a, b) => b.length - a.length)
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, callback) {
      let text = String(chunk)
      for (const form of forms) text = text.replaceAll(form, mask)
      to.write(readableLog(text.replaceAll(signedParameter, `$1${mask}`)))
      callback()
    },
  })
}
