import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** A new signing secret: 32 random bytes. */
export function newSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`
}

/**
 * The signature header by Standard Webhooks: one entry `v1,<base64>` per secret, over `{id}.{timestamp}.{body}`. Pure.
 * @param timestamp Unix seconds at the moment of sending.
 */
export function signatureOf(
  secrets: readonly string[],
  message: { id: string; timestamp: number; body: Uint8Array },
): string {
  const entries = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    const hmac = createHmac('sha256', key).update(`${message.id}.${message.timestamp}.`).update(message.body)
    return `v1,${hmac.digest('base64')}`
  })
  return entries.join(' ')
}
