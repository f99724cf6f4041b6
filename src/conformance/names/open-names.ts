import { readFileSync } from 'node:fs'
import { readYaml } from '../../read-yaml.ts'
import { isObject } from '../wire-json.ts'

/** An entry of the contract. */
export type ContractName = {
  /** Its place in the contract file, dotted. */
  key: string
  /** What the contract writes: a name, `METHOD path`, or how a task names itself. */
  written: string
  source: 'stated' | 'public' | 'assumed'
}

/** One that the specification does not state. */
export type OpenName = ContractName & { source: 'public' | 'assumed' }

/**
 * The entries of a contract file that are used by public clients or assumed, in the file's order. The file must have
 * been read as a contract before: what is no entry is passed over here.
 */
export function readOpenNames(file: string): OpenName[] {
  return readContractNames(file).filter((name): name is OpenName => name.source !== 'stated')
}

/** All entries of a contract file, in its order; the same holds of what is no entry. */
export function readContractNames(file: string): ContractName[] {
  return entriesIn(readYaml(readFileSync(file, 'utf8')), [])
}

function entriesIn(value: unknown, path: readonly string[]): ContractName[] {
  if (!isObject(value)) return []
  const { source } = value
  if (typeof source !== 'string') return Object.entries(value).flatMap(([key, one]) => entriesIn(one, [...path, key]))
  if (source !== 'stated' && source !== 'public' && source !== 'assumed') return []
  const { name, method, path: address, kind, requestType } = value
  const written = [name, method, address, kind, requestType].filter((part) => typeof part === 'string' && part !== '')
  return [{ key: path.join('.'), written: written.join(' '), source }]
}
