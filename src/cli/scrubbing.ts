import { Writable } from 'node:stream'
import { base64Forms, secretForms, textForms } from '../exchange/secret-forms.ts'
import { readableLog } from './show/readable.ts'

/** What stands where a secret stood. */
const mask = '********'

/** In an address of a file, what lets its reader have the file: nobody can know these by their value. */
const signedParameter = /([?&](?:[\w-]*signature|[\w-]*credential|[\w-]*token|sig)=)[^&\s"'\\<>]+/gi

/** A secret that is shorter may be a word, or a number. */
const shortestUnlikely = 12

/**
 * A stream that writes log lines on to another with every secret replaced, in every form in which it may be written,
 * and with what could drive a terminal escaped. The last line of defence: nothing should put a secret into a line in
 * the first place.
 * @param secrets may grow: a configuration that is read again may contain new ones.
 */
export function scrubbing(to: Writable, secrets: readonly string[]): Writable {
  let clean = concealLine(secrets)
  let known = secrets.length
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, callback) {
      if (secrets.length !== known) {
        clean = concealLine(secrets)
        known = secrets.length
      }
      to.write(readableLog(clean(String(chunk))))
      callback()
    },
  })
}

/**
 * The same in one line of a log: as JSON if it is an object of JSON, and else, such as where a process was killed in
 * the middle of it, as a text.
 */
export function concealLine(secrets: readonly string[]): (line: string) => string {
  const [inText, inJson] = [conceal(secrets), concealJson(secrets)]
  return (line) => {
    const clean = inText(line)
    return clean === line || !isObjectOfJson(line) ? clean : inJson(line)
  }
}

function isObjectOfJson(line: string): boolean {
  if (!line.startsWith('{')) return false
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

/**
 * Replaces secrets in a text, in every form in which they may stand, and in addresses what lets their reader in. Of a
 * secret that may be a word, what is a part of another word or number is left.
 */
export function conceal(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .flatMap((secret): [form: string, what: string | RegExp][] =>
      secret.length >= shortestUnlikely
        ? secretForms(secret).map((form) => [form, form])
        : [
            ...[...new Set(textForms(secret))].map((form): [string, RegExp] => [form, alone(form)]),
            ...base64Forms(secret).map((form): [string, string] => [form, form]),
          ],
    )
    .toSorted(([a], [b]) => b.length - a.length)
  return (text) =>
    forms.reduce((left, [, what]) => left.replaceAll(what, mask), text).replaceAll(signedParameter, `$1${mask}`)
}

/** The form with nothing of a word at its sides; a letter that ends an escape of JSON or of an address is none. */
function alone(form: string): RegExp {
  const [first, last] = [/^[\p{L}\p{N}_]/u, /[\p{L}\p{N}_]$/u].map((edge) => edge.test(form))
  const before = String.raw`(?:(?<![\p{L}\p{N}_])|(?<=\\[bfnrt]|\\u[\da-f]{4}|%[\dA-Fa-f]{2}))`
  return new RegExp(
    `${first ? before : ''}${form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}${last ? String.raw`(?![\p{L}\p{N}_])` : ''}`,
    'gu',
  )
}

/** A text of JSON, and the colon behind it if it names a member. */
const jsonText = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/**
 * The same in JSON, or whatever else has its texts in quotation marks. Of a secret that may be a word, names of members
 * and numbers are left as they are.
 */
export function concealJson(secrets: readonly string[]): (json: string) => string {
  const isUnlikely = ({ length }: string) => length >= shortestUnlikely
  const all = conceal(secrets)
  const unlikely = conceal(secrets.filter(isUnlikely))
  const short = conceal(secrets.filter((secret) => !isUnlikely(secret)))
  return (json) =>
    all(json) === json
      ? json
      : unlikely(json).replaceAll(jsonText, (text, colon?: string) => (colon === undefined ? short(text) : text))
}
