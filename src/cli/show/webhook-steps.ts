import type { Config } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'

/**
 * What a person enters in the web application of the service so that it sends us webhooks. The specification names no
 * call for it: webhooks are configured there, not through the API.
 */
export function webhookSteps(
  config: Config['webhooks'],
  topics: Contract['webhookTopics'],
  publicUrl: string | null,
): { by_api: false; url: string | null; topics: string[]; header: string | null; steps: string[] } {
  const { test: _, ...subscribable } = topics
  const names = Object.values(subscribable)
  const where = `http://${config.host}:${config.port}${config.path}`
  return {
    by_api: false,
    url: publicUrl,
    topics: names,
    header: config.headerName,
    steps: [
      'Sign in to the web application of the service as the profile whose API key Nightferry uses, and add a webhook. The API has no call for it.',
      publicUrl === null
        ? `Endpoint URL: the https address that your reverse proxy passes on to ${where}. nightferry webhooks set-up --url checks it.`
        : `Endpoint URL: ${publicUrl}, which your reverse proxy passes on to ${where}.`,
      `Topics: ${names.slice(0, 7).join(', ')}; for certifiers also ${names.slice(7).join(', ')}.`,
      config.headerName === null
        ? 'Custom header: none.'
        : `Custom header: ${config.headerName}, with the value of webhooks.headerValue.`,
      config.secrets.length === 0
        ? 'The signing secret is shown once: put it into EXCHANGE_WEBHOOK_SECRET, or a file that EXCHANGE_WEBHOOK_SECRET_FILE names, and start nightferry serve.'
        : 'The signing secret is shown once: compare its fingerprint with those that nightferry webhooks shows.',
      'Press Test. nightferry webhooks then shows an event of the topic '.concat(`${topics.test}.`),
    ],
  }
}
