import { createHmac } from 'node:crypto'

/**
 * Names an API key of a service so that processes which use the same one find each other, and the key is not given
 * away. Pure. Short on purpose: enough to tell keys apart, too little to check a guess by.
 */
export function keyFingerprint(apiKey: string, baseUrl: string): string {
  const { origin } = new URL(baseUrl)
  return createHmac('sha256', apiKey).update(`nightferry service key ${origin}`).digest('hex').slice(0, 16)
}
