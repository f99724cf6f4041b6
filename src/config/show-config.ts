import { readFileSync } from 'node:fs'
import { readYaml } from '../read-yaml.ts'
import { addressProblem } from './database-address.ts'
import { variableOf, variablesWithFile } from './environment.ts'
import { tokensOf } from './http-settings.ts'
import { streamNames } from './known-names.ts'
import type { ConfigSources } from './load-config.ts'
import type { Config } from './schema.ts'
import { leafPaths } from './setting-paths.ts'

const mask = '********'

/** Parameters of a database URL that contain a password. */
const passwordParameters = ['password', 'sslpassword']

/** The configuration in force with secrets hidden: of a database URL only the password, of a key everything. */
export function showableConfig(config: Config): Config {
  const { exchange, database, partner, notify, http, webhooks } = config
  return {
    ...config,
    exchange: {
      ...exchange,
      apiKey: exchange.apiKey === null ? null : mask,
      proxy: exchange.proxy === null ? null : withoutPassword(exchange.proxy),
    },
    database: { ...database, url: withoutPassword(database.url) },
    partner: { ...partner, url: partner.url === null ? null : withoutPassword(partner.url) },
    notify: {
      ...notify,
      url: notify.url === null ? null : mask,
      email: { ...notify.email, password: notify.email.password === null ? null : mask },
      heartbeatUrl: notify.heartbeatUrl === null ? null : mask,
    },
    http: {
      ...http,
      token: http.token === null ? null : mask,
      readToken: http.readToken === null ? null : mask,
    },
    webhooks: {
      ...webhooks,
      secrets: webhooks.secrets.map(() => mask),
      headerValue: webhooks.headerValue === null ? null : mask,
    },
  }
}

/** The secrets of a configuration, as plain values to scrub from everything that is written. */
export function secretValues(config: Config): string[] {
  const addresses = [config.database.url, config.partner.url ?? '', config.exchange.proxy ?? '']
  const passwords = addresses.flatMap(secretsOfAddress)
  const names = namesOf(config)
  const isName = (text: string) => names.has(percentDecoded(text).toLowerCase())
  const receivers = [config.notify.url, config.notify.heartbeatUrl].flatMap((url) =>
    url === null ? [] : secretsOfReceiver(url).filter((part) => !isName(part)),
  )
  const tokens = [...tokensOf(config.http.token), ...tokensOf(config.http.readToken)]
  const { secrets, headerValue } = config.webhooks
  // What follows the prefix is the key itself, and may be shown without it.
  const signing = secrets.flatMap((secret) => [secret, secret.replace(/^whsec_/, '')])
  const header = headerValue === null || isName(headerValue) ? [] : [headerValue]
  const all = [
    config.exchange.apiKey ?? '',
    ...passwords,
    ...receivers,
    ...tokens,
    ...signing,
    ...header,
    config.notify.email.password ?? '',
  ]
  return all.filter((secret) => secret.length >= 4)
}

/**
 * Names that stand in metrics, answers and log anyway: of this program, settings, jobs and streams. Addresses of
 * monitors often end in one, and to replace it would hide nothing and spoil what people and alerts read.
 */
function namesOf({ pull, streams }: Config): Set<string> {
  const settings = leafPaths().flatMap((path) => path.split('.'))
  const searches = pull.searches.flatMap(({ name }) => [name, `search:${name}`])
  const names = ['nightferry', ...settings, ...streamNames, ...Object.keys(streams), ...searches]
  return new Set(names.map((name) => name.toLowerCase()))
}

/**
 * The passwords in the address of a database or a proxy, but for those that stand beside themselves: to replace the
 * name of a user, a database or this program would hide nothing, and spoil what people read.
 */
export function secretsOfAddress(url: string): string[] {
  const told = toldBeside(url)
  return passwordsOf(url).filter((password) => !told.has(percentDecoded(password).toLowerCase()))
}

/** Whether a password in such an address can be read off the rest of it, or off the name of this program. */
export function hasToldPassword(url: string): boolean {
  const told = toldBeside(url)
  return passwordsOf(url).some((password) => told.has(percentDecoded(password).toLowerCase()))
}

/** Passwords in the address of a database or a proxy: in their place before the host, or as a parameter. Pure. */
export function passwordsOf(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { password, searchParams } = new URL(url)
  const parameters = passwordParameters.map((name) => searchParams.get(name) ?? '')
  return [password, percentDecoded(password), ...parameters].filter((text) => text !== '')
}

function toldBeside(url: string): Set<string> {
  if (!URL.canParse(url)) return new Set()
  const { username, pathname, protocol } = new URL(url)
  const words = [username, pathname.slice(1), protocol.slice(0, -1), 'nightferry']
  return new Set(words.map((word) => percentDecoded(word).toLowerCase()))
}

/** Parts of an address that are shorter may be words that stand in any line of a log. */
const shortestPart = 12

/** Anyone who knows the address of a receiver can write there: of an address, what is long in its path or query. */
function secretsOfReceiver(text: string): string[] {
  const { pathname, searchParams } = new URL(text)
  const parts = [...pathname.split('/'), ...searchParams.values()].filter(({ length }) => length >= shortestPart)
  return [text, ...parts]
}

/**
 * The address of a database or a proxy as it may be shown: `embedded`, or with its password masked; of one whose
 * password may stand outside its place nothing is shown.
 */
export function withoutPassword(text: string): string {
  if (text === 'embedded') return text
  if (!URL.canParse(text) || addressProblem(text, 'postgres') !== null) return mask
  const url = new URL(text)
  if (url.password !== '') url.password = mask
  for (const name of passwordParameters) if (url.searchParams.has(name)) url.searchParams.set(name, mask)
  return url.href
}

/** A text without its percent-encoding; unchanged if a % in it begins no valid escape. Pure. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A setting in force and where its value comes from. */
type SettingInForce = {
  path: string
  /** As JSON, with secrets hidden. */
  value: string
  from: 'flag' | 'environment' | 'file' | 'default'
  /** The variable, or the file. */
  where: string | null
}

/** Every setting with a value of its own, with what decided it: flag over environment over file over default. */
export function settingsInForce(
  config: Config,
  { file, environment, overrides = [] }: Pick<ConfigSources, 'file' | 'environment' | 'overrides'>,
): SettingInForce[] {
  const shown = showableConfig(config)
  const document = file === null ? {} : documentOf(file)
  const isSet = (variable: string) => (environment[variable] ?? '') !== ''
  const originOf = (path: string): Pick<SettingInForce, 'from' | 'where'> => {
    if (overrides.some((given) => given.startsWith(`${path}=`))) return { from: 'flag', where: null }
    const own = variablesWithFile().filter(([, setting]) => setting === path)
    const variable = [variableOf(path), ...own.flatMap(([name]) => [name, `${name}_FILE`])].findLast(isSet)
    if (variable !== undefined) return { from: 'environment', where: variable }
    return valueAt(document, path) === undefined ? { from: 'default', where: null } : { from: 'file', where: file }
  }
  return leafPaths().map((path) => ({ path, value: JSON.stringify(valueAt(shown, path) ?? null), ...originOf(path) }))
}

function documentOf(file: string): unknown {
  try {
    return readYaml(readFileSync(file, 'utf8'))
  } catch {
    // It was readable when the process started, and what is in force came from it.
    return {}
  }
}

function valueAt(of: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((node, key) => (typeof node === 'object' && node !== null ? (node as never)[key] : undefined), of)
}
