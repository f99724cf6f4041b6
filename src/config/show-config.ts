import type { Config } from './schema.ts'

const mask = '********'

/** Parameters of a database URL that hold a password. */
const passwordParameters = ['password', 'sslpassword']

/** The configuration in force with secrets hidden: of a database URL only the password, of a key everything. */
export function showableConfig(config: Config): Config {
  const { exchange, database, partner } = config
  return {
    ...config,
    exchange: { ...exchange, apiKey: exchange.apiKey === null ? null : mask },
    database: { ...database, url: withoutPassword(database.url) },
    partner: { ...partner, url: partner.url === null ? null : withoutPassword(partner.url) },
  }
}

/** The secrets of a configuration, as plain values to scrub from everything that is written. */
export function secretValues(config: Config): string[] {
  const passwords = [config.database.url, config.partner.url ?? ''].flatMap((url) => {
    if (!URL.canParse(url)) return []
    const { password, searchParams } = new URL(url)
    return [password, decodeURIComponentOr(password), ...passwordParameters.map((name) => searchParams.get(name) ?? '')]
  })
  return [config.exchange.apiKey ?? '', ...passwords].filter((secret) => secret.length >= 4)
}

/** A database URL as it may be shown: `embedded`, or with its password masked. */
export function withoutPassword(text: string): string {
  if (text === 'embedded') return text
  if (!URL.canParse(text)) return mask
  const url = new URL(text)
  if (url.password !== '') url.password = mask
  for (const name of passwordParameters) if (url.searchParams.has(name)) url.searchParams.set(name, mask)
  return url.href
}

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
