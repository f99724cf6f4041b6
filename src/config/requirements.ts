import type { Config } from './schema.ts'

/** Per configured stream: the streams whose rows of the same property must be accepted first. */
export function requirementsOf({ streams }: Config): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(streams).map(([name, stream]) => [name, stream?.requires ?? []]))
}
