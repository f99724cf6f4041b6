import type { GenericKind, ResultFileNames } from '../../../exchange/generic-kinds.ts'
import { type Filling, fillTemplate } from '../../preflight/generic/fill-template.ts'
import { text } from '../../streams/rules/row-content.ts'
import { type BodyContext, type BodyWriter, byPartner, type OutgoingRow, objectWithList } from '../bodies/body.ts'
import type { Kind } from '../kind.ts'
import { type CompanyOutcome, companyIdOf, nobody, partnerIdOf, textOf } from '../outcomes/result-outcome.ts'

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

/** Writes the bodies of a kind from its template: the head once, then one element per row, or one per property. */
function templateWriter(kind: GenericKind): BodyWriter {
  return function* (rows, context) {
    const { head, list } = kind.body
    // Of the columns the head may contain only the one that requests are kept apart by.
    const filling = { ...settings(context), column: () => (context.partition === '' ? null : context.partition) }
    yield* objectWithList(objectOf(fillTemplate(head, filling)), list, elements(kind, rows, context))
  }
}

function* elements({ body, partnerId }: GenericKind, rows: Iterable<OutgoingRow>, context: BodyContext) {
  const fillingOf = (row: OutgoingRow): Filling => ({
    ...settings(context),
    column: (name) => (name === partnerId ? row.partner_id : text(row.content, name)),
  })
  const { inner } = body
  if (inner === null) {
    for (const row of rows) yield objectOf(fillTemplate(body.element, fillingOf(row)))
    return
  }
  for (const [, group] of byPartner(rows)) {
    // What stands beside the inner list is the same for every row of the property.
    const [first] = group
    if (first === undefined) continue
    yield {
      ...objectOf(fillTemplate(body.element, fillingOf(first))),
      [inner.list]: group.map((row) => objectOf(fillTemplate(inner.element, fillingOf(row)))),
    }
  }
}

function settings({ customIdentifierId, groupId }: BodyContext): Pick<Filling, 'setting'> {
  return { setting: (name) => ({ customIdentifierId, groupId })[name] }
}

/** An element stays one although nothing of it is known. */
function objectOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
