import type { Contract } from '../../exchange/contract.ts'
import type { KindName } from './kind-names.ts'
import type { ReferenceIndex } from './rules/reference-index.ts'
import type { LandingRow, PartnerRow, RowContent } from './rules/row-content.ts'

/** How the rows of a stream land in the ledger. */
export type StreamShape = {
  /** The columns that the stream's query must yield: an interface. */
  columns: readonly string[]
  /** The one of them that holds the partner id. */
  idColumn: string
  /** Several partner rows make one ledger row, each a part of it. */
  parts?: PartsShape
  toRow: (row: PartnerRow, partnerId: string) => LandingRow
}

/** How parts make up a ledger row. */
export type PartsShape = {
  /**
   * Where in the content they stand, each under its name. They are merged into what the ledger holds, because a delta
   * brings only those that changed.
   */
  key: 'inputs'
  /** The columns that are a part's own. Rows that agree in all others are parts of one ledger row. */
  name: string
  value: string
  /** A row whose name is none is a ledger row of its own. */
  isName: (name: string | null | undefined) => boolean
}

/** What is odd about a row and does not keep it from being sent. */
export type RowWarning = { kind: 'coordinates_zero' | 'field_type_unseen'; detail: string }

/**
 * What a row of a stream cannot do without. `any`: at least one of these as well; the others may be null. Where a table
 * has none of `telling` itself, or any of `never`, it is no table of that stream.
 */
type TableSigns = {
  all: readonly string[]
  any?: readonly string[]
  telling: readonly string[]
  never?: readonly string[]
}

/** Everything that is known of one stream of ours: each has a file in this folder. What contradicts what is in SQL. */
export type Stream = Pick<StreamShape, 'parts'> & {
  /**
   * What one row of the query is, in Markdown: docs/streams.md is generated from it, from the columns and the notes.
   */
  about: string
  /** The columns that the query must yield, each with its meaning; their order is that in which values are read. */
  columns: Readonly<Record<string, string>>
  /** What does not fit beside a single column, in Markdown; a paragraph each. */
  notes?: readonly string[]
  /** By which columns `init` recognises a table of the partner that holds such rows. */
  table: TableSigns
  /** The kind of request that carries its rows. */
  kind: KindName
  /**
   * The ledger row of a partner row. Its key says what the row writes at the service, so that two rows with one key
   * would overwrite each other there.
   */
  toRow: StreamShape['toRow']
  /** What is wrong with a row whose texts are sound, before anyone is asked; or null. Pure. */
  check: (content: RowContent, reference: ReferenceIndex, contract: Contract) => string | null
  /** What is odd about a row, none of which is certain to be wrong. Pure. */
  warn?: (content: RowContent, reference: ReferenceIndex) => RowWarning[]
  /** What a row says, in a few words, for people. */
  words: (content: RowContent) => string
}

const periodType = '`Yearly` or `Monthly`.'
const year = 'Four digits.'
const hotel = 'Your id of the hotel.'

/** What several streams say of a column of theirs. */
export const columnWords = { partner_id: hotel, period_type: periodType, year } as const
