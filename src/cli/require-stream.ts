import { isOurStream, streamNames } from '../config/schema.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { readConfig } from './read-config.ts'
import { UsageError } from './usage-error.ts'

/**
 * Makes sure that a stream which a person names is one of ours, or one that the configuration reads.
 * @throws {UsageError} otherwise: a misspelt one would look as if all were well.
 */
export function requireStream(cli: Cli, options: CommonOptions, stream: string): void {
  if (isOurStream(stream)) return
  const added = Object.keys(readConfig(cli, options).streams).filter((name) => !isOurStream(name))
  if (added.includes(stream)) return
  throw new UsageError(`There is no stream ${stream}; there are ${[...streamNames, ...added].join(', ')}`)
}
