import { createHash } from 'node:crypto'
import { type Config, isOurStream, type StreamName, streamNames } from '../../config/schema.ts'
import type { CursorProtection, LookupsRead } from '../../db/tables/run-tables.ts'
import { placeholdersOf } from '../../exchange/body-template.ts'
import { type Contract, ContractError } from '../../exchange/contract.ts'
import type { GenericKind } from '../../exchange/generic-kinds.ts'
import type { StreamQuery } from '../../partner/dialect.ts'
import { calculatorInputs } from './calculator-inputs.ts'
import { calculatorSettings } from './calculator-settings.ts'
import { customPropertyValues } from './custom-property-values.ts'
import { frameworkAnswers } from './framework-answers.ts'
import { type KindName, kindNames, searchKinds } from './kind-names.ts'
import { omissions } from './omissions.ts'
import { properties } from './properties.ts'
import { keyOf, present } from './rules/row-content.ts'
import { standardHolders } from './standard-holders.ts'
import type { Stream, StreamShape } from './stream.ts'

/** Every stream of ours, with all that is known of it. */
export const streams: Record<StreamName, Stream> = {
  properties,
  framework_answers: frameworkAnswers,
  omissions,
  calculator_inputs: calculatorInputs,
  calculator_settings: calculatorSettings,
  custom_property_values: customPropertyValues,
  standard_holders: standardHolders,
}

const shapes = new Map<StreamName, StreamShape>(streamNames.map((name) => [name, shapeOfStream(streams[name])]))

function shapeOfStream({ columns, parts, toRow }: Stream): StreamShape {
  return { idColumn: 'partner_id', columns: Object.keys(columns), toRow, ...(parts && { parts }) }
}

/** How the rows of a stream of ours land in the ledger. */
export function ourShape(name: StreamName): StreamShape {
  return shapes.get(name) ?? shapeOfStream(streams[name])
}

/** The streams whose rows travel in requests of a kind, in the order in which a person thinks of them. */
export function streamsCarriedBy(kind: KindName): StreamName[] {
  return streamNames.filter((name) => streams[name].kind === kind)
}

/** Every stream that there can be, ours first, then those of the kinds that the contract adds. */
export function streamNamesOf({ kinds }: Contract): string[] {
  return [...streamNames, ...kinds.map(({ stream }) => stream)]
}

/**
 * The streams that runs read and send: those of the configuration that a kind of request carries. Rows of another one
 * may be in the ledger, because it was taken out of either: nobody can say what the partner says of them now, and what
 * was accepted of them is not sent again.
 */
export function carriedStreams(contract: Contract, { streams: configured }: Pick<Config, 'streams'>): string[] {
  return streamNamesOf(contract).filter((stream) => configured[stream] !== undefined)
}

/** How the rows of a stream land in the ledger. The configuration names no stream that has no shape. */
export function shapeOf({ kinds }: Contract, stream: string): StreamShape {
  if (isOurStream(stream)) return ourShape(stream)
  const kind = kinds.find((one) => one.stream === stream)
  if (kind === undefined) throw new Error(`no kind of request carries the stream ${stream}`)
  return addedShape(kind)
}

/**
 * A digest of what decides which rows a stream has and what they become here: the query as it is configured, its
 * columns and the key. Any change of the text counts, for nobody can say what it means.
 */
export function queryDigestOf(contract: Contract, stream: string, query: string): string {
  const { columns, idColumn } = shapeOf(contract, stream)
  const { key = null } = contract.kinds.find((kind) => kind.stream === stream) ?? {}
  return createHash('sha256').update(JSON.stringify({ query, columns, idColumn, key })).digest('hex')
}

function addedShape({ columns, partnerId: idColumn, key }: GenericKind): StreamShape {
  return {
    columns,
    idColumn,
    toRow: (row) => {
      const partnerId = row[idColumn] ?? ''
      const rowKey = keyOf(partnerId, ...key.map((column) => row[column]))
      return { partnerId, rowKey, content: present(row, idColumn) }
    },
  }
}

/** A stream that is read by its cursor. */
export type CursorStream = {
  name: string
  shape: StreamShape
  query: StreamQuery
  queryDigest: string
  lookups: LookupsRead
  cursor: string
  cursorType: string | null
  protection: CursorProtection | null
  /** How often all rows are read and compared, in milliseconds; null: never. */
  fullEveryMs: number | null
}

/**
 * Checks the kinds of a contract file against those that Nightferry has: names and streams are told apart by nothing
 * else, in tables, reports and settings.
 * @throws {ContractError} with every clash by its path in the file.
 */
export function checkKinds(file: string, contract: Contract): void {
  const { kinds } = contract
  const ours: readonly string[] = [...kindNames, ...searchKinds]
  const streams = streamNamesOf(contract)
  const problems = kinds.flatMap(({ name, stream, requires }, index) => {
    const carrier = kinds.findIndex((other) => other.stream === stream)
    return [
      ours.includes(name) ? [`kinds.${name}: is the name of a kind that Nightferry has; choose another`] : [],
      isOurStream(stream)
        ? [`kinds.${name}.stream: ${stream} is a stream that Nightferry has; choose another name`]
        : [],
      carrier === index ? [] : [`kinds.${name}.stream: ${stream} travels in kinds.${kinds[carrier]?.name} already`],
      requires.flatMap((required, place) =>
        streams.includes(required) && required !== stream
          ? []
          : [`kinds.${name}.requires.${place}: ${required} is no other stream; there are ${streams.join(', ')}`],
      ),
    ].flat()
  })
  if (problems.length === 0) return
  throw new ContractError(
    `${file} adds kinds of request that cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`,
  )
}

/** Whether a stream that is read travels in a request which holds the group's id, so that it has to be set. */
export function needsGroup({ kinds }: Contract, streams: Readonly<Record<string, unknown>>): boolean {
  return kinds.some(({ stream, body: { head, element, inner } }) => {
    const templates = inner === null ? [head, element] : [head, element, inner.element]
    const held = templates.flatMap(placeholdersOf)
    return (
      streams[stream] !== undefined &&
      held.some((one) => one.is === 'setting' && one.setting === 'groupId' && !one.optional)
    )
  })
}
