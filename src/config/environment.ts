/** Environment variables with a name of their own, as installations know them, and the settings that they set. */
export const namedVariables: Record<string, string> = {
  EXCHANGE_BASE_URL: 'exchange.baseUrl',
  EXCHANGE_API_KEY: 'exchange.apiKey',
  DATABASE_URL: 'database.url',
  PARTNER_DATABASE_URL: 'partner.url',
  EXCHANGE_WEBHOOK_SECRET: 'webhooks.secrets',
  EXCHANGE_WEBHOOK_HEADER_VALUE: 'webhooks.headerValue',
}

/** An environment without settings of ours and their secrets, for a process that they do not concern. */
export function withoutSettings(environment: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const ours = new Set(Object.keys(namedVariables).flatMap((name) => [name, `${name}_FILE`]))
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !ours.has(name) && !name.startsWith('NIGHTFERRY_')),
  )
}

/** The variable that overrides a setting: `exchange.pollIntervalMs` is `NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS`. */
export function variableOf(path: string): string {
  const words = path.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll(/[.-]/g, '_')
  return `NIGHTFERRY_${words.toUpperCase()}`
}
