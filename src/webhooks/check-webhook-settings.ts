import { createHash } from 'node:crypto'
import { ConfigError, type ConfigProblem } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import type { Contract } from '../exchange/contract.ts'
import { createWebhookVerifier } from '../exchange/webhook-signature.ts'
import { addressKind } from '../network/address-kind.ts'

/** Connections of the receiver: it must not wait for those of the looks. Two store, one works events off. */
export const webhookConnections = 3

/** Whether webhooks are configured: without a secret nothing listens. */
export function areWebhooksConfigured({ secrets }: Pick<Config['webhooks'], 'secrets'>): boolean {
  return secrets.length > 0
}

/**
 * Refuses settings under which a receiver would take what it should not, or nothing at all. Repeats no secret.
 * @throws {ConfigError} for settings that do not go together. @throws {WebhookSecretError} for a secret that is none.
 */
export function checkWebhookSettings(config: Config['webhooks'], contract: Pick<Contract, 'names'>): void {
  const problems: ConfigProblem[] = []
  const { headerName, headerValue } = config
  if ((headerName === null) !== (headerValue === null)) {
    problems.push({
      path: headerName === null ? 'webhooks.headerName' : 'webhooks.headerValue',
      message: 'is not set, and the other of the two is: a custom header has a name and a value',
    })
  }
  const reserved = Object.values(contract.names.webhookHeaders)
  if (headerName !== null && reserved.includes(headerName.toLowerCase())) {
    problems.push({
      path: 'webhooks.headerName',
      message: 'is the name of a header of the signature, which is reserved',
    })
  }
  if (headerName !== null && headerValue !== null && !areWebhooksConfigured(config)) {
    problems.push({
      path: 'webhooks.secrets',
      message: 'names no secret, so nothing would be received; set EXCHANGE_WEBHOOK_SECRET, or take the header out',
    })
  }
  if (problems.length > 0) throw new ConfigError('Webhooks cannot be received:', problems)
  if (areWebhooksConfigured(config)) createWebhookVerifier(config.secrets, () => 0)
}

/** What a secret may be called by where people read: the first bytes of its hash. */
export function secretFingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12)
}

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
