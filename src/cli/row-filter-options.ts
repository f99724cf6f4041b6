import type { Command } from 'commander'
import { streamNames } from '../config/stream-names.ts'
import type { Cli } from './cli.ts'
import { sinceMoment } from './since.ts'

/** The options by which a person narrows rows down. */
export type FilterOptions = { stream?: string; partnerId?: string; reason?: string; since?: Date }

/** Adds the options to a verb. */
export function withFilterOptions(verb: Command, cli: Cli): Command {
  return verb
    .option('--stream <name>', `only rows of a stream: ${streamNames.join(', ')}, or one that the contract adds`)
    .option('--partner-id <id>', 'only rows of one hotel')
    .option('--reason <text>', 'only rows with this text in the code or the reason')
    .option('--since <time>', 'only rows that are so since: 12h, 3d, 2026-11-21, 2026-11-21T02:00Z', (text: string) =>
      sinceMoment(text, cli.now()),
    )
}
