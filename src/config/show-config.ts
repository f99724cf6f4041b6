import { type Config, secretPaths } from './schema.ts'

/** The configuration in force with secrets hidden: of a database URL only the password, of a key everything. */
export function showableConfig(config: Config): Config {
  const copy = structuredClone(config)
  for (const path of secretPaths) {
    const [section, key] = path.split('.') as [keyof Config, string]
    const holder = copy[section] as Record<string, unknown>
    const value = holder[key]
    if (typeof value === 'string' && value !== 'embedded') holder[key] = hidden(value)
  }
  return copy
}

/** The secrets of a configuration, as plain values to scrub from everything that is written. */
export function secretValues(config: Config): string[] {
  const passwords = [config.database.url, config.partner.url].map((url) => {
    const password = url !== null && URL.canParse(url) ? new URL(url).password : ''
    return [password, decodeURIComponentOr(password)]
  })
  return [config.exchange.apiKey ?? '', ...passwords.flat()].filter((secret) => secret.length >= 4)
}

function hidden(value: string): string {
  if (!URL.canParse(value)) return '********'
  const url = new URL(value)
  if (url.password !== '') url.password = '********'
  return url.href
}

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
