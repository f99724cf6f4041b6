import type { GenericKind } from '../../../exchange/generic-kinds.ts'
import type { Kind } from '../kind.ts'
import { namedOutcome } from './read-named-outcome.ts'
import { templateWriter } from './write-template.ts'

/** A kind that the contract describes, as waves, bodies and settlements see any other. */
export function genericKind(described: GenericKind): Kind {
  const { stream, partitionBy, rows, outcomes } = described
  return {
    streams: [stream],
    partitionBy,
    maxRows: () => rows.maximum,
    firstRows: rows.default,
    writeBody: templateWriter(described),
    outcomes:
      outcomes === 'error_rows'
        ? outcomes
        : { list: () => outcomes.list, read: (_contract, element) => namedOutcome(outcomes, element) },
  }
}
