import { isOurStream, streamNames } from '../config/schema.ts'
import type { RowFilter } from '../db/ledger/row-state.ts'
import { type Cli, type CommonOptions, UsageError } from './cli.ts'
import type { FilterOptions } from './option-values.ts'
import { readConfig } from './read-config.ts'

/**
 * What the options ask for.
 * @throws {UsageError} when there is no such stream.
 */
export function filterOf(cli: Cli, options: CommonOptions & FilterOptions): RowFilter {
  const { stream, partnerId, reason, since } = options
  if (stream !== undefined) requireStream(cli, options, stream)
  return {
    ...(stream !== undefined && { stream }),
    ...(partnerId !== undefined && { partnerId }),
    ...(reason !== undefined && { reason }),
    ...(since !== undefined && { since }),
  }
}

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
