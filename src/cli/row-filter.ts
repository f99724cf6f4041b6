import type { RowFilter } from '../db/ledger/filter-rows.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { requireStream } from './require-stream.ts'
import type { FilterOptions } from './row-filter-options.ts'

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
