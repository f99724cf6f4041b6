import type { Command } from 'commander'
import { type StreamName, streamNames } from '../config/schema.ts'
import type { RowFilter } from '../db/ledger/row-filter.ts'
import type { Cli } from './cli.ts'
import { sinceMoment } from './since.ts'
import { UsageError } from './usage-error.ts'

/** The options by which a person narrows rows down. */
export type FilterOptions = { stream?: string; partnerId?: string; reason?: string; since?: Date }

/** Adds the options to a verb. */
export function withFilterOptions(verb: Command, cli: Cli): Command {
  return verb
    .option('--stream <name>', `only rows of a stream: ${streamNames.join(', ')}`)
    .option('--partner-id <id>', 'only rows of one hotel')
    .option('--reason <text>', 'only rows with this text in the code or the reason')
    .option('--since <time>', 'only rows that are so since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
}

/**
 * What the options ask for.
 * @throws {UsageError} when there is no such stream: a misspelt one would look as if all were well.
 */
export function filterOf({ stream, partnerId, reason, since }: FilterOptions): RowFilter {
  if (stream !== undefined && !streamNames.includes(stream as StreamName)) {
    throw new UsageError(`There is no stream ${stream}; there are ${streamNames.join(', ')}`)
  }
  return {
    ...(stream !== undefined && { stream }),
    ...(partnerId !== undefined && { partnerId }),
    ...(reason !== undefined && { reason }),
    ...(since !== undefined && { since }),
  }
}
