import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/schema.ts'
import type { BodyTemplate } from '../../exchange/body-template.ts'
import type { BulkRequest, Contract, Endpoint, TaskName } from '../../exchange/contract.ts'
import type { GenericKind, ResultFileNames } from '../../exchange/generic-kinds.ts'
import { StopRun } from '../deps.ts'
import { columnValue, type Filling, fillTemplate } from '../preflight/fill-template.ts'
import { documentKinds, isDocumentKind, type KindName, kindNames, searchKind } from '../streams/kind-names.ts'
import { streamsCarriedBy } from '../streams/our-streams.ts'
import { text } from '../streams/rules/row-content.ts'
import {
  type BodyContext,
  type BodyWriter,
  byPartner,
  type OutgoingRow,
  objectWithList,
  writeCalculators,
  writeCompanies,
  writeCompanyMappings,
  writeFrameworkAnswers,
  writeStandardHolders,
} from './bodies.ts'
import {
  type CompanyOutcome,
  calculatorOutcome,
  companyIdOf,
  mappingOutcome,
  nobody,
  partnerIdOf,
  type ResultFile,
  textOf,
} from './outcomes/result-outcome.ts'

/** What a submission of a kind is at the service. */
type Request = { endpoint: Endpoint; taskName: TaskName }

export const kinds: Record<KindName, Kind & { request: BulkRequest }> = {
  company_mappings: {
    request: 'companyMappings',
    streams: streamsCarriedBy('company_mappings'),
    partitionBy: null,
    maxRows: (push) => push.maxCompaniesPerMapping,
    writeBody: writeCompanyMappings,
    elements: {
      list: (contract) => contract.names.companyMappings.companies,
      isOf: ({ names: { companyMappings: names } }, element, partnerId) => memberOf(element, names.id) === partnerId,
    },
    outcomes: { list: (contract) => contract.names.companyMappingsResult.companies, read: mappingOutcome },
  },
  framework_answers: {
    request: 'frameworkAnswersUpsert',
    streams: streamsCarriedBy('framework_answers'),
    partitionBy: 'framework_id',
    maxRows: (push) => push.maxAnswersPerUpsert,
    writeBody: writeFrameworkAnswers,
    elements: {
      list: (contract) => contract.names.frameworkAnswers.companies,
      isOf: ({ names: { frameworkAnswers: names } }, element, partnerId) =>
        memberOf(element, names.identifiedBy, names.customProperty, names.value) === partnerId,
    },
    outcomes: 'error_rows',
  },
  calculators: {
    request: 'calculatorsUpsert',
    streams: streamsCarriedBy('calculators'),
    partitionBy: null,
    maxRows: (push) => push.maxCalculatorsPerUpsert,
    writeBody: writeCalculators,
    elements: {
      list: (contract) => contract.names.calculators.companies,
      isOf: ({ names: { calculators: names } }, element, partnerId) =>
        memberOf(element, names.identifier) === partnerId,
    },
    outcomes: { list: (contract) => contract.names.calculatorsResult.companies, read: calculatorOutcome },
  },
  companies: {
    request: 'companiesUpsert',
    streams: streamsCarriedBy('companies'),
    partitionBy: null,
    maxRows: (push) => push.maxValuesPerUpsert,
    writeBody: writeCompanies,
    elements: {
      list: (contract) => contract.names.companies.companies,
      isOf: ({ names: { companies: names } }, element, partnerId) => memberOf(element, names.identifier) === partnerId,
    },
    outcomes: 'error_rows',
  },
  standard_holders: {
    request: 'standardHoldersUpsert',
    streams: streamsCarriedBy('standard_holders'),
    partitionBy: null,
    maxRows: (push) => push.maxHoldersPerUpsert,
    writeBody: writeStandardHolders,
    elements: {
      list: (contract) => contract.names.standardHolders.holders,
      isOf: ({ names: { standardHolders: names } }, element, partnerId) =>
        memberOf(element, names.identifier) === partnerId,
    },
    outcomes: 'error_rows',
  },
}

/** @throws {StopRun} when a stored submission has a kind that neither this version nor the contract knows. */
export function kindOf(contract: Contract, name: string): Kind {
  const known = kindNames.find((one) => one === name)
  if (known !== undefined) return kinds[known]
  const added = contract.kinds.find((kind) => kind.name === name)
  if (added === undefined) throw unknownKind(name)
  return genericKind(added)
}

/** Whether the service takes all rows of a property in a request of a kind, or none of them. Pure. */
export function judgesProperties({ outcomes }: Kind): boolean {
  return outcomes !== 'error_rows'
}

/** Where a submission of a kind goes, and how its task names itself. @throws {StopRun} as `kindOf` does. */
export function requestOf(contract: Contract, name: string): Request {
  const known = kindNames.find((one) => one === name)
  const search = name === searchKind ? 'calculatorsSearch' : isDocumentKind(name) ? documentKinds[name] : undefined
  const request = search ?? (known && kinds[known].request)
  if (request !== undefined) return { endpoint: contract.endpoints[request], taskName: contract.taskNames[request] }
  const added = contract.kinds.find((kind) => kind.name === name)
  if (added === undefined) throw unknownKind(name)
  return added
}

/** How the tasks of every bulk request name themselves, searches included. */
export function taskNamesOf({ taskNames, kinds: added }: Contract): TaskName[] {
  return [...Object.values(taskNames), ...added.map(({ taskName }) => taskName)]
}

/** An older binary on a newer database, or a contract file from which a kind was taken while it was under way. */
function unknownKind(name: string): StopRun {
  return new StopRun(
    'kind_unknown',
    `Submissions of the kind ${name} are under way, and neither this version nor the contract file knows it. Put kinds.${name} back into the file that exchange.contract names, or give them up: nightferry submissions, nightferry abandon`,
  )
}

/** A kind of bulk request that carries rows: ours are in `kinds`, the contract file may add others. */
export type Kind = {
  /** Streams whose rows travel in requests of this kind. */
  streams: readonly string[]
  /** A content column that requests are kept apart by. */
  partitionBy: string | null
  /** Rows of a request at most. */
  maxRows: (push: Config['push']) => number
  /** Rows of a request as long as nothing better is known; absent: as many as there may be. */
  firstRows?: number
  writeBody: BodyWriter
  /** The list of its body, and which of the elements in it are one hotel's. */
  elements: {
    list: (contract: Contract) => string
    isOf: (contract: Contract, element: unknown, partnerId: string) => boolean
  }
  /**
   * Where the outcome of each row is read: a file that names every company, or the rows that the task's error names.
   */
  outcomes: ResultFile | 'error_rows'
}

/** A kind that the contract describes, as waves, bodies and settlements see any other. */
export function genericKind(described: GenericKind): Kind {
  const { stream, partitionBy, rows, outcomes } = described
  return {
    streams: [stream],
    partitionBy,
    maxRows: () => rows.maximum,
    firstRows: rows.default,
    writeBody: templateWriter(described),
    elements: {
      list: () => described.body.list,
      isOf: (_contract, element, partnerId) => isFilledFor(described, element, partnerId),
    },
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

/** What stands in an object under these names, one within the other; undefined where nothing does. */
function memberOf(value: unknown, ...names: string[]): unknown {
  return names.reduce<unknown>(
    (outer, name) =>
      typeof outer === 'object' && outer !== null ? new Map(Object.entries(outer)).get(name) : undefined,
    value,
  )
}

/** Whether an element has a hotel's id where the template of its kind puts it, or one of the rows in it has. */
function isFilledFor({ body, partnerId: column }: GenericKind, element: unknown, partnerId: string): boolean {
  const { inner } = body
  const rows = inner === null ? [] : memberOf(element, inner.list)
  return (
    holdsColumn(body.element, element, column, partnerId) ||
    (inner !== null && Array.isArray(rows) && rows.some((row) => holdsColumn(inner.element, row, column, partnerId)))
  )
}

function holdsColumn(template: BodyTemplate, value: unknown, column: string, text: string): boolean {
  switch (template.is) {
    case 'literal':
    case 'setting':
      return false
    case 'column': {
      if (template.column !== column) return false
      const filled = columnValue(template, text)
      return 'value' in filled && isDeepStrictEqual(filled.value, value)
    }
    case 'object':
      return template.members.some(([name, inner]) => holdsColumn(inner, memberOf(value, name), column, text))
    case 'list':
      // Items that are empty were left out, so that others may stand in their places.
      return (
        Array.isArray(value) &&
        template.items.some((inner) => value.some((item) => holdsColumn(inner, item, column, text)))
      )
    default:
      return template satisfies never
  }
}
