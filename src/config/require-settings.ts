import { ConfigError, namedVariables } from './environment.ts'
import { hasStreams, sendingJobs } from './known-names.ts'
import type { Config } from './schema.ts'

/** What the exchange goes by; null: what only sending needs, and this process does not have. */
export type Required = {
  baseUrl: string
  apiKey: string
  customIdentifierId: string | null
  groupId: string | null
  partnerUrl: string | null
}

const lacking = 'Settings are missing or wrong:'

type Problem = { path: string; message: string }

/**
 * The settings without which the service cannot be called: all that jobs need which only read there.
 * @throws {ConfigError} listing every one that is missing, and how to set it.
 */
export function requireService(config: Config): Required {
  return checked(config, serviceProblems(config))
}

/**
 * The settings without which no row can be read and sent.
 * @param needsGroup whether a request that the contract describes holds the group's id.
 * @throws {ConfigError} listing every one that is missing or no address, and how to set it; never its value.
 */
export function requireSettings(
  config: Config,
  needsGroup = false,
): Required & { customIdentifierId: string; partnerUrl: string } {
  const { customIdentifierId, groupId } = config.exchange
  const { url } = config.partner
  const wrong = url === null ? null : wrongDatabaseAddress(url)
  const problems = [
    ...serviceProblems(config),
    ...unset({
      'exchange.customIdentifierId': customIdentifierId,
      'partner.url': url,
      ...(needsGroup || config.streams.calculator_inputs || config.streams.calculator_settings
        ? { 'exchange.groupId': groupId }
        : {}),
    }),
    ...(wrong === null ? [] : [{ path: 'partner.url', message: wrong }]),
    ...(hasStreams(config) ? [] : [{ path: 'streams', message: noStream }]),
  ]
  if (customIdentifierId === null || url === null || problems.length > 0) throw new ConfigError(lacking, problems)
  return { ...checked(config, []), customIdentifierId, partnerUrl: url }
}

const noStream =
  'names no stream, so there is nothing to read and send; see config/demo.yaml for an example. Jobs that only read at the service need none: pull-calculators, refresh-reference and search:<name>'

/**
 * The settings without which `nightferry serve` does not begin: what the service needs, and what sending needs where
 * there is a stream, because a night that cannot begin is better known now.
 * @throws {ConfigError} listing what is missing, and schedules of jobs that would have nothing to send.
 */
export function requireToServe(config: Config, needsGroup: boolean): Required {
  if (hasStreams(config)) return requireSettings(config, needsGroup)
  const scheduled = sendingJobs.filter((job) => config.jobs[job].schedule !== null)
  return checked(config, [
    ...serviceProblems(config),
    ...scheduled.map((job) => ({ path: `jobs.${job}.schedule`, message: nothingToSend })),
  ])
}

const nothingToSend =
  'is set, and streams names no stream that the job could read and send; configure one, or schedule pull-calculators instead'

function serviceProblems({ exchange: { baseUrl, apiKey } }: Config): Problem[] {
  return unset({ 'exchange.baseUrl': baseUrl, 'exchange.apiKey': apiKey })
}

function unset(wanted: Readonly<Record<string, string | null>>): Problem[] {
  return Object.entries(wanted)
    .filter(([, value]) => value === null)
    .map(([path]) => {
      const variable = Object.entries(namedVariables).find(([, setting]) => setting === path)?.[0]
      return { path, message: `is not set; set it in the configuration file${variable ? ` or as ${variable}` : ''}` }
    })
}

/** An address that is none counts as not set: a stage that reads the partner says so. */
function checked({ exchange, partner: { url } }: Config, problems: readonly Problem[]): Required {
  const { baseUrl, apiKey, customIdentifierId, groupId } = exchange
  if (baseUrl === null || apiKey === null || problems.length > 0) {
    throw new ConfigError(lacking, problems)
  }
  const partnerUrl = url !== null && wrongDatabaseAddress(url) === null ? url : null
  return { baseUrl, apiKey, customIdentifierId, groupId, partnerUrl }
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
