/** The header that the owner of a webhook has sent with every delivery. */
export type CustomHeader = { name: string; value: string }

/** Headers that HTTP itself needs, or that the delivery sets; one of the owner's choosing would break it. */
const ofTheDelivery: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const printable = /^[\x21-\x7e](?:[\t\x20-\x7e]{0,4094}[\x21-\x7e])?$/

/**
 * What is wrong with a custom header, or null. Pure. The reason never repeats the value, which is write-only.
 * @param reserved names of the delivery's own headers, in lower case.
 */
export function faultOfHeader({ name, value }: CustomHeader, reserved: readonly string[]): string | null {
  const lower = name.toLowerCase()
  if (!token.test(name)) return 'The name of the custom header is no header name of at most 128 characters.'
  if (reserved.includes(lower)) return `The header ${lower} is reserved for the signature.`
  if (ofTheDelivery.has(lower)) return `The header ${lower} belongs to HTTP and cannot be set.`
  if (!printable.test(value)) {
    return 'The value of the custom header must be 1 to 4096 printable ASCII characters without line breaks.'
  }
  return null
}
