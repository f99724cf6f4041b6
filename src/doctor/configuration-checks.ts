import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { ConfigError, variablesWithFile } from '../config/environment.ts'
import { hasStreams } from '../config/known-names.ts'
import { requireToServe } from '../config/require-settings.ts'
import { type Config, secretPaths } from '../config/schema.ts'
import { hasToldPassword, passwordsOf } from '../config/show-config.ts'
import { goesByProxy } from '../exchange/connector.ts'
import type { Contract } from '../exchange/contract.ts'
import { whatIsCompared } from '../pipeline/compare/what-is-compared.ts'
import { needsGroup } from '../pipeline/streams/our-streams.ts'
import { readYaml } from '../read-yaml.ts'
import { judgeComparison } from './judge-comparison.ts'
import { advice, type Check, error, type Found, ok, on, type Ward, warning } from './ward.ts'

/** Each problem of a configuration as a finding of its own. Pure. */
function problemsOf(caught: unknown): Found[] {
  if (!(caught instanceof ConfigError)) return [error((caught as Error).message, 'fix what the message names')]
  return caught.problems.map(({ path, message }) =>
    error(`${path || '(top)'}: ${message}`, `fix ${path || 'the file'}`, path),
  )
}

/** Pure. */
function settingsWords(config: Config): string {
  if (!hasStreams(config)) return 'Everything is set that runs need which only read at the service; no stream is sent'
  return `Everything that a run needs is set, for ${Object.keys(config.streams).length} streams`
}

/** Streams that are sent before the hotels that they belong to. Pure. */
function judgeOrder({ streams }: Config): Found[] {
  const names = Object.keys(streams)
  if (names.length === 0) return [ok('There is no stream')]
  const without = Object.entries(streams)
    .filter(([name, stream]) => name !== 'properties' && !(stream?.requires ?? []).includes('properties'))
    .map(([name]) => name)
  const absent = Object.entries(streams).flatMap(([name, stream]) =>
    (stream?.requires ?? [])
      .filter((required) => !names.includes(required))
      .map((required) => `${name} requires ${required}`),
  )
  const found = [
    ...(names.includes('properties') && without.length > 0
      ? [
          warning(
            `sent without waiting for properties: ${without.join(', ')}`,
            'add properties to the requires of each, or take requires out',
          ),
        ]
      : []),
    ...(absent.length > 0
      ? [
          warning(
            `${absent.join('; ')}, which is not read: rows wait for what was accepted earlier, or for ever`,
            'add that stream, or take it out of requires',
          ),
        ]
      : []),
    ...(names.includes('properties')
      ? []
      : [
          advice(
            'the stream properties is not read, so no mapping is made or kept right',
            'add streams.properties, unless another system does that',
          ),
        ]),
  ]
  return found.length > 0 ? found : [ok('Every stream waits for its hotels')]
}

/** Settings whose value is an address that may hold a password, and is no secret without one. */
const passwordHolders = ['database.url', 'partner.url', 'exchange.proxy'] as const

/** Secrets that stand in the text of a configuration file as they are; a reference to a variable is none. Pure. */
export function secretsIn(text: string): string[] {
  const document = readYaml(text)
  return secretPaths.filter((path) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], document)
    if (Array.isArray(value)) return value.some((one) => typeof one === 'string' && !isReference(one))
    if (typeof value !== 'string' || isReference(value)) return false
    if (!passwordHolders.some((one) => one === path)) return true
    return holdsPassword(value)
  })
}

/** What can be each part of an address, a port too. */
const anyPart = '60606'

/** Whether an address holds a password, or a piece of one, that no reference to a variable brings. */
function holdsPassword(url: string): boolean {
  return passwordsOf(url.replaceAll(/\$\{\w+\}/g, anyPart)).some((password) => password.replaceAll(anyPart, '') !== '')
}

function isReference(text: string): boolean {
  return /^\$\{\w+\}$/.test(text)
}

/** The variables that may contain a secret; each also exists as `…_FILE`. Pure. */
export function secretVariables(): string[] {
  const paths: readonly string[] = secretPaths
  return variablesWithFile().flatMap(([variable, path]) => (paths.includes(path) ? [variable] : []))
}

/** Passwords of databases and of the proxy that can be read off their own address. Pure. */
function judgePasswords({ database, partner, exchange }: Config): Found[] {
  const urls = [database.url, partner.url, exchange.proxy]
  const told = passwordHolders.filter((_, nth) => hasToldPassword(urls[nth] ?? ''))
  if (told.length === 0) return [ok('No password of a database or a proxy can be read off its address')]
  return told.map((path) =>
    warning(
      `the password of ${path} is the name of its user, its database, its kind of server or this program`,
      `give the user another password, and write it into ${path}`,
      path,
    ),
  )
}

/** The way to the service, where variables that other programs go by name a proxy. Pure. */
export function judgeProxy(
  { baseUrl, proxy }: Pick<Config['exchange'], 'baseUrl' | 'proxy'>,
  environment: Ward['environment'],
): Found[] {
  const { protocol, hostname } = new URL(baseUrl ?? 'http://localhost')
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const byProxy = goesByProxy({ protocol, hostname: host })
  if (proxy !== null) {
    const shown = new URL(proxy).host
    return [
      ok(byProxy ? `The proxy ${shown} leads to the service` : 'The service is on this machine: no proxy leads there'),
    ]
  }
  const variable = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].find((name) => environment[name])
  if (variable === undefined || !byProxy) return [ok('The service is called directly')]
  const exempt = (environment.NO_PROXY ?? environment.no_proxy ?? '').split(/[\s,]+/).filter((one) => one !== '')
  const isExempt = exempt.some((one) => one === '*' || `.${host}`.endsWith(`.${one.replace(/^\*?\./, '')}`))
  if (isExempt) return [ok('The service is called directly, as NO_PROXY says')]
  return [
    warning(
      `${variable} names a proxy, and the service is called directly: only exchange.proxy leads to it by a proxy`,
      'set NIGHTFERRY_EXCHANGE_PROXY, or exchange.proxy, or name the service in NO_PROXY if there is a direct way',
    ),
  ]
}

/** Pure. */
function judgeTracing(standing: 'not asked for' | 'installed' | 'missing'): Found[] {
  if (standing === 'not asked for') return [ok('No variable of OpenTelemetry asks for traces of runs')]
  if (standing === 'installed') return [ok('Traces of runs are asked for, and the library that sends them is there')]
  return [
    warning(
      'OTEL_… variables ask for traces of runs, and @opentelemetry/sdk-node is not installed: none is sent',
      'npm install @opentelemetry/sdk-node beside Nightferry (with -g if it was), or unset the variables',
    ),
  ]
}

const root = 0

/**
 * Whether others can read a file that holds secrets than those who have to. Of a file of root's, as a secret that
 * Kubernetes mounts or one of /etc, the group may read it: by the group alone does the daemon come to it. Pure.
 */
export function judgeFile(
  file: string,
  { mode, uid }: { mode: number; uid: number },
  secrets: readonly string[],
): Found[] {
  if (secrets.length === 0) return [ok(`${file} holds no secret`, file)]
  const [readers, most] = uid === root ? ['root and its group', 0o640] : ['its owner', 0o600]
  const named = `${file} holds ${secrets.join(', ')}`
  if ((mode & 0o077 & ~most) === 0) return [ok(`${named}, and only ${readers} can read it`, file)]
  const open = `${named}, and others than ${readers} can open it (mode ${(mode & 0o777).toString(8)})`
  const todo = `chmod ${most.toString(8)} ${file}, or name a variable there, such as apiKey: \${EXCHANGE_API_KEY}`
  return [warning(open, todo, file)]
}

/** From then on a certificate that is renewed by itself should have been. Days. */
const renewedBefore = 14
const dayMs = 86_400_000

/** Whether the HTTP API can use its certificate file, and how long the first one there is still valid. Pure. */
export function judgeCertificate(file: string, pem: string | Buffer, now: Date): Found[] {
  let end: Date
  try {
    createSecureContext({ cert: pem })
    end = new Date(new X509Certificate(pem).validTo)
  } catch (wrong) {
    const what = `${file} cannot be used as a certificate in PEM: ${(wrong as Error).message}`
    return [error(what, 'write the whole file, in PEM, or fix http.certificateFile', file)]
  }
  const day = end.toISOString().slice(0, 10)
  const todo = 'renew it, then systemctl reload nightferry: serve reads it again at SIGHUP'
  if (end <= now) return [error(`The certificate in ${file} ended on ${day}`, todo, file)]
  if (end.getTime() - now.getTime() < renewedBefore * dayMs) {
    return [warning(`The certificate in ${file} ends on ${day}`, todo, file)]
  }
  return [ok(`The certificate in ${file} is valid until ${day}`, file)]
}

/** Pure. */
function judgeAssumptions({ assumed, kinds }: Contract): Found[] {
  const added = kinds.length === 0 ? '' : `, and ${kinds.length} kinds of request are added`
  return [
    ok(
      `${assumed.length} names are our assumption${added}; nightferry contract check compares them with a description`,
    ),
  ]
}

export const configurationChecks: readonly Check[] = [
  {
    id: 'configuration',
    group: 'configuration',
    why: 'No verb but this one works with a configuration that cannot be read.',
    run: async (ward) =>
      await ward
        .config()
        .then(
          () => [
            ok(
              ward.configFile === null
                ? 'Read from the environment alone; there is no file'
                : `Read from ${ward.configFile}`,
            ),
          ],
          problemsOf,
        ),
  },
  {
    id: 'settings',
    group: 'configuration',
    why: 'Without these a run does not begin.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const contract = await on(ward.contract, 'contract')
      try {
        requireToServe(config, needsGroup(contract, config.streams))
        return [ok(settingsWords(config))]
      } catch (missing) {
        return problemsOf(missing)
      }
    },
  },
  {
    id: 'serving',
    group: 'configuration',
    why: 'nightferry serve refuses to start with these, so no night begins by itself.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      await on(ward.contract, 'contract')
      return await ward.serving().then(() => [ok('nightferry serve would start with these settings')], problemsOf)
    },
  },
  {
    id: 'http_certificate',
    group: 'configuration',
    why: 'Clients refuse a certificate that has ended: the HTTP API, its metrics and the console are gone for them then.',
    run: async (ward) => {
      const { http } = await on(ward.config, 'configuration')
      const file = http.certificateFile
      if (http.port === null || file === null) return [ok('The HTTP API has no certificate of its own')]
      return await readFile(file).then(
        (pem) => judgeCertificate(file, pem, ward.now()),
        (wrong: Error) => [error(`${file} cannot be read: ${wrong.message}`, 'fix http.certificateFile', file)],
      )
    },
  },
  {
    id: 'tracing',
    group: 'configuration',
    why: 'Variables of OpenTelemetry ask for traces of runs, and nothing would send them.',
    run: async (ward) => judgeTracing(await ward.tracing()),
  },
  {
    id: 'requirements',
    group: 'configuration',
    why: 'The service finds a company by your id only after its mapping was accepted. A row that is sent before is rejected.',
    run: async (ward) => judgeOrder(await on(ward.config, 'configuration')),
  },
  {
    id: 'comparison',
    group: 'configuration',
    why: 'What the service loses, or somebody changes there, is noticed by nobody where nothing compares it with what was sent.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      return judgeComparison(whatIsCompared(await on(ward.contract, 'contract'), config))
    },
  },
  {
    id: 'secrets_in_file',
    group: 'configuration',
    why: 'Anyone who can read the key can act as your profile.',
    run: async ({ configFile, environment, config }) => {
      await on(config, 'configuration')
      const named = secretVariables().flatMap((name) => environment[`${name}_FILE`] || [])
      const files = new Set([...(configFile === null ? [] : [configFile]), ...named])
      const judged = [...files].map(async (file) => {
        const status = await stat(file)
        const secrets = file === configFile ? secretsIn(await readFile(file, 'utf8')) : ['a secret']
        return judgeFile(file, status, secrets)
      })
      const found = (await Promise.all(judged)).flat()
      return found.length > 0 ? found : [ok('There is no file that could hold secrets')]
    },
  },
  {
    id: 'passwords',
    group: 'configuration',
    why: 'Such a password keeps nobody out, and is not hidden in logs and answers, where it stands as a word.',
    run: async (ward) => judgePasswords(await on(ward.config, 'configuration')),
  },
  {
    id: 'proxy',
    group: 'configuration',
    why: 'Where no direct way leads to the service, nothing is sent and nothing comes back.',
    run: async (ward) => judgeProxy((await on(ward.config, 'configuration')).exchange, ward.environment),
  },
  {
    id: 'contract',
    group: 'configuration',
    why: 'The specification leaves names on the wire open. Where a deployment spells one otherwise, requests are refused or answers are not understood.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      return await ward
        .contract()
        .then(judgeAssumptions, (wrong: Error) => [
          error(wrong.message, 'fix the file that exchange.contract names, or leave the setting out'),
        ])
    },
  },
]
