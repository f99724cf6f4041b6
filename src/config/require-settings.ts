import { ConfigError, namedVariables } from './environment.ts'
import type { Config } from './schema.ts'

export type Required = {
  baseUrl: string
  apiKey: string
  customIdentifierId: string
  groupId: string | null
  partnerUrl: string
}

/**
 * The settings without which nothing can be exchanged.
 * @param needsGroup whether a request that the contract describes holds the group's id.
 * @throws {ConfigError} listing every one that is missing or no address, and how to set it; never its value.
 */
export function requireSettings(config: Config, needsGroup = false): Required {
  const { baseUrl, apiKey, customIdentifierId, groupId } = config.exchange
  const wanted = {
    'exchange.baseUrl': baseUrl,
    'exchange.apiKey': apiKey,
    'exchange.customIdentifierId': customIdentifierId,
    'partner.url': config.partner.url,
    ...(needsGroup || config.streams.calculator_inputs || config.streams.calculator_settings
      ? { 'exchange.groupId': groupId }
      : {}),
  }
  const problems = Object.entries(wanted)
    .filter(([, value]) => value === null)
    .map(([path]) => {
      const variable = Object.entries(namedVariables).find(([, setting]) => setting === path)?.[0]
      return { path, message: `is not set; set it in the configuration file${variable ? ` or as ${variable}` : ''}` }
    })
  const wrong = config.partner.url === null ? null : wrongDatabaseAddress(config.partner.url)
  if (wrong !== null) problems.push({ path: 'partner.url', message: wrong })
  if (Object.keys(config.streams).length === 0) {
    problems.push({
      path: 'streams',
      message: 'names no stream, so there is nothing to read; see config/demo.yaml for an example',
    })
  }
  if (
    baseUrl === null ||
    apiKey === null ||
    customIdentifierId === null ||
    config.partner.url === null ||
    problems.length > 0
  ) {
    throw new ConfigError('Settings are missing or wrong:', problems)
  }
  return { baseUrl, apiKey, customIdentifierId, groupId, partnerUrl: config.partner.url }
}

/** What is wrong with the address of a partner's database, without the address; null if nothing is. Pure. */
export function wrongDatabaseAddress(text: string): string | null {
  if (isDatabaseAddress(text)) return null
  return 'is no URL of a database; it looks like postgres://user:password@host:5432/database, with mysql, mariadb or sqlserver in place of postgres for these, or file:///folder/hotels.db for SQLite'
}

function isDatabaseAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, host } = new URL(text)
  // A path that is not absolute would be read from the root of the file system.
  if (protocol === 'file:') return text.startsWith('file:///') && host === ''
  return ['postgres:', 'postgresql:', 'embedded:', 'mysql:', 'mariadb:', 'sqlserver:', 'mssql:'].includes(protocol)
}

/**
 * Per configured stream: the streams whose rows of the same property must be accepted first. They are those that runs
 * carry: a configuration that names a stream which no kind of request carries is not loaded.
 */
export function requirementsOf({ streams }: Config): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(streams).flatMap(([name, stream]) => (stream === undefined ? [] : [[name, stream.requires ?? []]])),
  )
}
