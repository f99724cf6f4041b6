import type { GenericKind, ResultFileNames } from '../../../exchange/generic-kinds.ts'
import type { Kind } from '../kind.ts'
import { type CompanyOutcome, companyIdOf, nobody, partnerIdOf, textOf } from '../outcomes/result-outcome.ts'
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

/**
 * Reads one element of a result file by the names that the contract gives; what names nobody is kept as it came. Pure.
 */
export function namedOutcome(names: ResultFileNames, element: unknown): CompanyOutcome {
  if (typeof element !== 'object' || element === null) return nobody(element)
  const fields = new Map(Object.entries(element))
  const read = (name: string | null) => (name === null ? undefined : fields.get(name))
  const partnerId = partnerIdOf(read(names.id))
  const companyId = companyIdOf(read(names.companyId))
  if (partnerId === null && companyId === null) return nobody(element)
  const status: unknown = read(names.status)
  const accepted = isAccepted(names, status)
  return {
    partnerId,
    accepted,
    companyId,
    code: accepted === true ? null : shown(status),
    reason: shown(read(names.reason)),
    fieldErrors: [],
  }
}

/** Null: the file names the company with a status that nobody has told us about. */
function isAccepted({ accepted, rejected }: ResultFileNames, status: unknown): boolean | null {
  const among = (known: readonly unknown[]) => known.includes(status)
  if (among(accepted)) return true
  if (typeof status !== 'boolean' && textOf(status) === null) return null
  return rejected === null || among(rejected) ? false : null
}

/** A reason may be a list or an object; it is shown as it stands. */
function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'string' ? textOf(value) : JSON.stringify(value)
}
