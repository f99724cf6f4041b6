import { addressKind } from '../network/address-kind.ts'

/** Characters; specification, Limits. */
const longestUrl = 2048

/**
 * Why the service would not take an address for a webhook, or null. Pure: where a host name leads is not looked up.
 * Specification: Webhook, Errors.
 */
export function publicUrlProblem(text: string): string | null {
  if (!URL.canParse(text)) return 'is no address; it looks like https://hooks.example.com/webhooks'
  const url = new URL(text)
  if (url.protocol !== 'https:') return 'does not begin with https://'
  if (url.username + url.password !== '') return 'carries credentials'
  if (url.href.length > longestUrl) return `is longer than ${longestUrl} characters`
  const kind = addressKind(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  if (kind !== null && kind !== 'public') return `leads to an address that is ${kind}`
  return url.hostname === 'localhost' ? 'leads to an address that is loopback' : null
}
