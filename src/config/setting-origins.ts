import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { namedVariables, variableOf } from './environment.ts'
import type { ConfigSources } from './load-config.ts'
import type { Config } from './schema.ts'
import { leafPaths } from './setting-paths.ts'
import { showableConfig } from './show-config.ts'

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
  const document = file === null ? {} : readYaml(file)
  const isSet = (variable: string) => (environment[variable] ?? '') !== ''
  const originOf = (path: string): Pick<SettingInForce, 'from' | 'where'> => {
    if (overrides.some((given) => given.startsWith(`${path}=`))) return { from: 'flag', where: null }
    const named = Object.keys(namedVariables).filter((variable) => namedVariables[variable] === path)
    const variable = [variableOf(path), ...named.flatMap((name) => [name, `${name}_FILE`])].find(isSet)
    if (variable !== undefined) return { from: 'environment', where: variable }
    return valueAt(document, path) === undefined ? { from: 'default', where: null } : { from: 'file', where: file }
  }
  return leafPaths().map((path) => ({ path, value: JSON.stringify(valueAt(shown, path) ?? null), ...originOf(path) }))
}

function readYaml(file: string): unknown {
  try {
    return parseDocument(readFileSync(file, 'utf8')).toJS()
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
