import { parse } from 'yaml'
import { ConfigError } from '../config/config-error.ts'
import { namedVariables, variableOf } from '../config/environment.ts'
import { type Config, secretPaths } from '../config/schema.ts'
import type { Contract } from '../exchange/contract.ts'
import { advice, error, type Found, ok, warning } from './finding.ts'

/** Each problem of a configuration as a finding of its own. Pure. */
export function problemsOf(caught: unknown): Found[] {
  if (!(caught instanceof ConfigError)) return [error((caught as Error).message, 'fix what the message names')]
  return caught.problems.map(({ path, message }) =>
    error(`${path || '(top)'}: ${message}`, `fix ${path || 'the file'}`, path),
  )
}

/** Streams that are sent before the hotels that they belong to. Pure. */
export function judgeOrder({ streams }: Config): Found[] {
  const names = Object.keys(streams)
  if (names.length === 0) return [ok('There is no stream')]
  const without = Object.entries(streams)
    .filter(([name, stream]) => name !== 'properties' && !stream?.requires.includes('properties'))
    .map(([name]) => name)
  const absent = Object.entries(streams).flatMap(([name, stream]) =>
    (stream?.requires ?? [])
      .filter((required) => !names.includes(required))
      .map((required) => `${name} requires ${required}`),
  )
  const found = [
    ...(names.includes('properties') && without.length > 0
      ? [warning(`${without.join(', ')} do not require properties`, 'add requires: [properties] to each')]
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

/** Secrets that stand in the text of a configuration file as they are; a reference to a variable is none. Pure. */
export function secretsIn(text: string): string[] {
  const document: unknown = parse(text)
  return secretPaths.filter((path) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], document)
    if (Array.isArray(value)) return value.some((one) => typeof one === 'string' && !isReference(one))
    if (typeof value !== 'string' || isReference(value)) return false
    if (!path.endsWith('.url') || path === 'notify.url') return true
    return URL.canParse(value) && new URL(value).password !== ''
  })
}

function isReference(text: string): boolean {
  return /^\$\{\w+\}$/.test(text)
}

/** The variables that may contain a secret; each also exists as `…_FILE`. Pure. */
export function secretVariables(): string[] {
  const paths: readonly string[] = secretPaths
  const own = Object.keys(namedVariables).filter((name) => paths.includes(namedVariables[name] ?? ''))
  return [...own, ...paths.map(variableOf)]
}

/** Pure. */
export function judgeTracing(standing: 'not asked for' | 'installed' | 'missing'): Found[] {
  if (standing === 'not asked for') return [ok('No variable of OpenTelemetry asks for traces of runs')]
  if (standing === 'installed') return [ok('Traces of runs are asked for, and the library that sends them is there')]
  return [
    warning(
      'OTEL_… variables ask for traces of runs, and @opentelemetry/sdk-node is not installed: none is sent',
      'npm install @opentelemetry/sdk-node beside Nightferry (with -g if it was), or unset the variables',
    ),
  ]
}

const othersBits = 0o077

/** Whether anyone but the owner can read a file that holds secrets. Pure. */
export function judgeFile(file: string, mode: number, secrets: readonly string[]): Found[] {
  if (secrets.length === 0) return [ok(`${file} holds no secret`, file)]
  if ((mode & othersBits) === 0)
    return [ok(`${file} holds ${secrets.join(', ')}, and only its owner can read it`, file)]
  const open = `${file} holds ${secrets.join(', ')}, and others than its owner can open it (mode ${(mode & 0o777).toString(8)})`
  return [warning(open, `chmod 600 ${file}, or name a variable there, such as apiKey: \${EXCHANGE_API_KEY}`, file)]
}

/** Pure. */
export function judgeAssumptions({ assumed, kinds }: Contract): Found[] {
  const added = kinds.length === 0 ? '' : `, and ${kinds.length} kinds of request are added`
  return [
    ok(
      `${assumed.length} names are our assumption${added}; nightferry contract check compares them with a description`,
    ),
  ]
}
