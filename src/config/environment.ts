import { secretPaths } from './schema.ts'

/** Environment variables with a name of their own, as installations know them, and the settings that they set. */
export const namedVariables: Record<string, string> = {
  EXCHANGE_BASE_URL: 'exchange.baseUrl',
  EXCHANGE_API_KEY: 'exchange.apiKey',
  DATABASE_URL: 'database.url',
  PARTNER_DATABASE_URL: 'partner.url',
  EXCHANGE_WEBHOOK_SECRET: 'webhooks.secrets',
  EXCHANGE_WEBHOOK_HEADER_VALUE: 'webhooks.headerValue',
}

/**
 * The variables that also exist with the ending `_FILE`, naming a file that holds the value, each with its setting:
 * those of every secret, and those with a name of their own. Of two of one setting the later wins.
 */
export function variablesWithFile(): [variable: string, path: string][] {
  return [...secretPaths.map((path): [string, string] => [variableOf(path), path]), ...Object.entries(namedVariables)]
}

/** An environment without settings of ours and their secrets, for a process that they do not concern. */
export function withoutSettings(environment: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const ours = new Set(variablesWithFile().flatMap(([name]) => [name, `${name}_FILE`]))
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !ours.has(name) && !name.startsWith('NIGHTFERRY_')),
  )
}

/** The variable that overrides a setting: `exchange.pollIntervalMs` is `NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS`. */
export function variableOf(path: string): string {
  const words = path.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll(/[.-]/g, '_')
  return `NIGHTFERRY_${words.toUpperCase()}`
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

type Interpolation = {
  environment: Readonly<Record<string, string | undefined>>
  problems: ConfigProblem[]
  /** Reads a text that had a reference as what the setting at the path is: a number, a list. */
  convert: (path: string, text: string) => unknown
}

/**
 * Replaces `${NAME}` and `${NAME:-fallback}` in every string of a configuration document; the fallback also stands for
 * an empty variable, as in a shell. SQL keeps its own dollar signs: only this spelling is touched.
 */
export function interpolate(value: unknown, how: Interpolation, path: string[] = []): unknown {
  if (typeof value === 'string') {
    const text = value.replaceAll(reference, (whole, name: string, fallback: string | undefined) => {
      const found = fallback === undefined ? how.environment[name] : how.environment[name] || fallback
      if (found !== undefined) return found
      how.problems.push({ path: path.join('.'), message: `the environment variable ${name} is not set` })
      return whole
    })
    return text === value ? value : how.convert(path.join('.'), text)
  }
  if (Array.isArray(value)) return value.map((entry, index) => interpolate(entry, how, [...path, String(index)]))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, interpolate(entry, how, [...path, key])]),
    )
  }
  return value
}

export type ConfigProblem = { path: string; message: string }

/** The configuration cannot be used. Lists every problem with its path, so that one look fixes all of them. */
export class ConfigError extends Error {
  readonly code = 'config_invalid'
  readonly problems: readonly ConfigProblem[]

  constructor(where: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === '' ? '(top)' : path}: ${message}`)
    super(`${where}\n${lines.join('\n')}`)
    this.problems = problems
  }
}
