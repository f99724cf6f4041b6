import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { isObject } from '../wire-json.ts'

/** An entry of the contract that the specification does not state. */
export type OpenName = {
  /** Its place in the contract file, dotted. */
  key: string
  /** What the contract writes: a name, `METHOD path`, or how a task names itself. */
  written: string
  source: 'public' | 'assumed'
}

/**
 * The entries of a contract file that are used by public clients or assumed, in the file's order. The file must have
 * been read as a contract before: what is no entry is passed over here.
 */
export function readOpenNames(file: string): OpenName[] {
  return entriesIn(parse(readFileSync(file, 'utf8')), [])
}

function entriesIn(value: unknown, path: readonly string[]): OpenName[] {
  if (!isObject(value)) return []
  const { source } = value
  if (typeof source !== 'string') return Object.entries(value).flatMap(([key, one]) => entriesIn(one, [...path, key]))
  if (source !== 'public' && source !== 'assumed') return []
  const { name, method, path: address, kind, requestType } = value
  const written = [name, method, address, kind, requestType].filter((part) => typeof part === 'string' && part !== '')
  return [{ key: path.join('.'), written: written.join(' '), source }]
}
