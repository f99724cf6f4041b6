import type { StreamName } from '../../config/schema.ts'
import { streamColumns } from './stream-columns.ts'

/** A ledger row as a stream's partner row describes it. */
export type LandingRow = { partnerId: string; rowKey: string; content: Record<string, unknown> }

/** A partner row: every column as the partner's server prints it, or null. */
export type PartnerRow = Record<string, string | null>

export type StreamShape = {
  /** The columns that the stream's query must yield: an interface. */
  columns: readonly string[]
  /** The one of them that holds the partner id. */
  idColumn: string
  /**
   * Several partner rows make one ledger row: their contents are merged, key by key under `foldedKey`,
   * into what the ledger holds, because a delta brings only those that changed.
   */
  foldedKey?: 'inputs'
  toRow: (row: PartnerRow, partnerId: string) => LandingRow
}

/**
 * How each stream's rows land in the ledger. The row key says what a row writes at the service,
 * so that two rows with one key would overwrite each other there.
 */
export const streamShapes: Record<StreamName, StreamShape> = {
  properties: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.properties.columns),
    toRow: ({ partner_id: _, ...details }, partnerId) => ({ partnerId, rowKey: partnerId, content: present(details) }),
  },
  framework_answers: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.framework_answers.columns),
    toRow: ({ partner_id: _, ...answer }, partnerId) => ({
      partnerId,
      rowKey: keyOf(
        partnerId,
        answer.framework_id,
        answer.period_type,
        answer.year,
        monthOf(answer),
        answer.data_point_id,
      ),
      content: present({ ...answer, month: monthOf(answer) }),
    }),
  },
  omissions: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.omissions.columns),
    toRow: ({ partner_id: _, ...omission }, partnerId) => ({
      partnerId,
      rowKey: keyOf(partnerId, omission.period_type, omission.year, monthOf(omission), omission.question_id),
      content: present({ ...omission, month: monthOf(omission) }),
    }),
  },
  calculator_inputs: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.calculator_inputs.columns),
    foldedKey: 'inputs',
    // An input whose field type is no id is a row of its own: it must not spoil the others of its period.
    toRow: (row, partnerId) => ({
      partnerId,
      rowKey: isId(row.field_type_id)
        ? keyOf(partnerId, row.year, row.month)
        : keyOf(partnerId, row.year, row.month, row.field_type_id),
      content: {
        ...present({ year: row.year ?? null, month: row.month ?? null }),
        inputs: { [row.field_type_id ?? '']: row.value },
      },
    }),
  },
  calculator_settings: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.calculator_settings.columns),
    toRow: ({ partner_id: _, ...switches }, partnerId) => ({
      partnerId,
      rowKey: partnerId,
      content: present(switches),
    }),
  },
  custom_property_values: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.custom_property_values.columns),
    toRow: ({ partner_id: _, ...value }, partnerId) => ({
      partnerId,
      rowKey: keyOf(partnerId, value.property_id),
      content: present(value),
    }),
  },
  standard_holders: {
    idColumn: 'partner_id',
    columns: Object.keys(streamColumns.standard_holders.columns),
    toRow: ({ partner_id: _, ...holder }, partnerId) => ({
      partnerId,
      rowKey: keyOf(partnerId, holder.standard_id),
      content: present(holder),
    }),
  },
}

/** Longer ones cannot be a key, and are invalid. Partners' ids are codes of a few characters. */
export const maxPartnerIdLength = 255

const id = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a column holds an id of the service. */
export function isId(text: string | null | undefined): boolean {
  return typeof text === 'string' && id.test(text)
}

/** An omitted month of a yearly period means January (Framework answers upsert request). */
function monthOf(row: PartnerRow): string | null {
  return row.month ?? (row.period_type === 'Yearly' ? '1' : null)
}

/** One text for several parts, whatever they hold: two lists of parts never make the same one. */
export function keyOf(...parts: (string | null | undefined)[]): string {
  return JSON.stringify(parts.map((part) => part ?? null))
}

/** Absent and null are one thing here; leaving nulls out keeps the content's hash from depending on which it was. */
export function present(columns: PartnerRow): Record<string, string> {
  const known: Record<string, string> = {}
  for (const name in columns) {
    const value = columns[name] ?? null
    if (value !== null) known[name] = value
  }
  return known
}
