import { type StreamName, streamNames } from '../config/known-names.ts'
import type { PartnerTable } from '../partner/examination.ts'
import { streams } from '../pipeline/streams/our-streams.ts'

/** A column of a table, and the join that leads to it from the stream's own table; null: it is in that table. */
type Found = { column: string; type: string; join: Join | null; score: number }
type Link = { from: string; to: string }
/** `via`: the table in between, where none of the stream's own columns leads there. */
type Join = Link & { table: PartnerTable; via?: Join }

/** What a table offers for a stream. */
export type Suggestion = {
  stream: StreamName
  table: PartnerTable
  /** By the stream's columns, those that were found. */
  columns: Readonly<Record<string, Found>>
  /** What the stream cannot do without and was not found. */
  missing: readonly string[]
  /** Null where nothing shows what changed: no column looks like it, or rows of several tables are joined. */
  cursor: string | null
  score: number
}

/** What a person said: the table of a stream, and columns of it by what they are for the stream. */
export type Said = Partial<Record<StreamName, { table?: PartnerTable; columns?: Readonly<Record<string, string>> }>>

/**
 * For each stream the table that was said, or that fits it best, by the names of columns alone; null where none does. A
 * guess for a person to look at, never more. Pure.
 * @param tables of those that fit alike, the first is taken.
 */
export function suggestStreams(
  tables: readonly PartnerTable[],
  said: Said = {},
): Record<StreamName, Suggestion | null> {
  const hotels = bestOf('properties', tables, tables, null, said)
  const taken = new Set<PartnerTable>(hotels === null ? [] : [hotels.table])
  const found: Partial<Record<StreamName, Suggestion | null>> = { properties: hotels }
  // A copy of the database in another schema has tables that fit as well: those beside the hotels come first.
  const isBeside = ({ schema }: PartnerTable) => Number(schema === hotels?.table.schema)
  const near = tables.toSorted((a, b) => isBeside(b) - isBeside(a))
  for (const stream of streamNames) {
    if (stream === 'properties') continue
    const free = near.filter((table) => !taken.has(table))
    const best = bestOf(stream, free, near, hotels, said)
    if (best !== null && best.missing.length === 0) taken.add(best.table)
    found[stream] = best
  }
  return found as Record<StreamName, Suggestion | null>
}

/** The name of a table, with its schema where there is one. Pure. */
export function nameOf({ schema, name }: PartnerTable): string {
  return schema === null ? name : `${schema}.${name}`
}

/** So many tables of one name are named. */
const mostNamesakes = 3
const list = new Intl.ListFormat('en-GB')

/** A sentence for each table of a suggestion whose name others have too, as a copy of the database does. Pure. */
export function toldNamesakes({ table, columns }: Suggestion, tables: readonly PartnerTable[]): string[] {
  return [table, ...joinsOf(columns).map((join) => join.table)].flatMap((taken) => {
    const others = tables.filter((one) => one !== taken && one.name.toLowerCase() === taken.name.toLowerCase())
    if (others.length === 0) return []
    const named = others.slice(0, mostNamesakes).map(nameOf)
    const more = others.length - named.length
    const words = list.format(more > 0 ? [...named, `${more} more`] : named)
    return [`${nameOf(taken)} was taken; ${words} ${others.length === 1 ? 'has' : 'have'} the same name`]
  })
}

function bestOf(
  stream: StreamName,
  candidates: readonly PartnerTable[],
  tables: readonly PartnerTable[],
  hotels: Suggestion | null,
  said: Said,
): Suggestion | null {
  const { table: given, columns = {} } = said[stream] ?? {}
  if (given !== undefined) return suggestionFor(stream, given, tables, hotels, columns)
  const suggestions = candidates
    .filter((table) => !isRuledOut(stream, table))
    .map((table) => suggestionFor(stream, table, tables, hotels, columns))
    .filter(({ columns }) =>
      streams[stream].table.telling.some((name) => columns[name] !== undefined && columns[name].join === null),
    )
  const [best] = suggestions.toSorted((a, b) => a.missing.length - b.missing.length || b.score - a.score)
  return best === undefined || best.score < leastScore[stream === 'properties' ? 'hotels' : 'others'] ? null : best
}

function isRuledOut(stream: StreamName, table: PartnerTable): boolean {
  const { never = [] } = streams[stream].table
  return never.some((name) => table.columns.some((column) => likeness(name, column.name, table.name) > 0))
}

/** One name that fits says nothing: many tables have a value, or a name. Those of hotels have more that tells. */
const leastScore = { hotels: 5, others: 4 }

function suggestionFor(
  stream: StreamName,
  table: PartnerTable,
  tables: readonly PartnerTable[],
  hotels: Suggestion | null,
  said: Readonly<Record<string, string>>,
): Suggestion {
  const wanted = Object.keys(streams[stream].columns)
  const own = Object.entries(said).flatMap(([name, column]) => {
    const found = table.columns.find((one) => one.name.toLowerCase() === column.toLowerCase())
    return found === undefined ? [] : [[name, { column: found.name, type: found.type, join: null, score: 3 }] as const]
  })
  const columns = matched(
    wanted.filter((name) => name !== 'partner_id' || hotels === null),
    table,
  )
  if (hotels === null) columns.partner_id ??= keyOf(table) ?? undefined
  else columns.partner_id = idOfHotel(table, hotels) ?? idByDetour(table, hotels, tables) ?? undefined
  for (const [name, found] of own) columns[name] = found
  const { all, any = [] } = streams[stream].table
  for (const name of all) if (name !== 'partner_id') columns[name] ??= acrossJoin(name, table, tables) ?? undefined
  const present = Object.fromEntries(Object.entries(columns).filter(([, found]) => found !== undefined)) as Record<
    string,
    Found
  >
  const lacking = all.filter((name) => present[name] === undefined)
  const missing =
    any.length > 0 && !any.some((name) => present[name] !== undefined) ? [...lacking, any.join(' or ')] : lacking
  const score = Object.values(present).reduce((sum, { score: one }) => sum + one, 0)
  const cursor = joinsOf(present).length > 0 ? null : cursorIn(table.columns)
  return { stream, table, columns: present, missing, cursor, score }
}

/** The joins that lead to the columns, each once, and before it the one of the table in between. Pure. */
export function joinsOf(columns: Suggestion['columns']): Join[] {
  const joins = Object.values(columns).flatMap(({ join }) =>
    join === null ? [] : [...(join.via === undefined ? [] : [join.via]), join],
  )
  return [...new Map(joins.map((join) => [join.table, join] as const)).values()]
}

/** Columns of one table for names, the best pairs first, each column once. Pure. */
function matched(wanted: readonly string[], table: PartnerTable): Record<string, Found | undefined> {
  const pairs = wanted.flatMap((name) =>
    table.columns.map(({ name: column, type }) => ({ name, column, type, score: likeness(name, column, table.name) })),
  )
  const found: Record<string, Found | undefined> = {}
  const used = new Set<string>()
  for (const { name, column, type, score } of pairs.toSorted((a, b) => b.score - a.score)) {
    if (score === 0 || found[name] !== undefined || used.has(column)) continue
    found[name] = { column, type, join: null, score }
    used.add(column)
  }
  return found
}

/** What stands behind the name of a table in the name of its key. */
const keyEndings = ['id', 'key', 'no', 'number', 'nr', 'code'] as const

/** The column that names a hotel where nothing is called like an id of the partner's. */
function keyOf(table: PartnerTable): Found | null {
  const one = singular(table.name)
  const names = ['id', ...keyEndings.map((ending) => `${one}${ending}`), 'hotelid', 'propertyid']
  const key = table.columns.find(({ name }) => names.includes(plain(name)))
  return key === undefined ? null : { column: key.name, type: key.type, join: null, score: 1 }
}

/** How a row of another table names its hotel: by the partner id itself, or by a key that leads to the hotels. */
function idOfHotel(table: PartnerTable, { table: hotels, columns }: Suggestion): Found | null {
  const id = columns.partner_id
  if (id === undefined) return null
  const link = linkBetween(table, hotels) ?? byFirstColumn(table, hotels)
  if (link !== null && plain(link.to) === plain(id.column))
    return { column: link.from, type: id.type, join: null, score: 2 }
  if (link !== null) return { column: id.column, type: id.type, join: { table: hotels, ...link }, score: 2 }
  const one = singular(hotels.name)
  const names = [plain(id.column), `${one}${plain(id.column)}`, 'partnerid']
  const own = table.columns.find(({ name }) => names.includes(plain(name)) && plain(name) !== 'id')
  return own === undefined ? null : { column: own.name, type: own.type, join: null, score: 2 }
}

/** The same where a table in between leads to the hotels, as a meter does from its readings. */
function idByDetour(
  table: PartnerTable,
  { table: hotels, columns }: Suggestion,
  tables: readonly PartnerTable[],
): Found | null {
  const id = columns.partner_id
  if (id === undefined) return null
  for (const other of tables) {
    const [first, second] = [linkBetween(table, other), linkBetween(other, hotels)]
    if (other === table || other === hotels || first === null || second === null) continue
    const via = { table: other, ...first }
    return plain(second.to) === plain(id.column)
      ? { column: second.from, type: id.type, join: via, score: 1 }
      : { column: id.column, type: id.type, join: { table: hotels, ...second, via }, score: 1 }
  }
  return null
}

/** A column that another table has, to which a key of this one leads. */
function acrossJoin(name: string, table: PartnerTable, tables: readonly PartnerTable[]): Found | null {
  for (const other of tables) {
    if (other === table) continue
    const column = other.columns.find((one) => likeness(name, one.name, other.name) >= 2)
    const link = column === undefined ? null : linkBetween(table, other)
    if (column !== undefined && link !== null)
      return { column: column.name, type: column.type, join: { table: other, ...link }, score: 1 }
  }
  return null
}

/** The columns by which rows of one table name rows of another: meter_id and meter_id, or meter_id and id. Pure. */
function linkBetween(table: PartnerTable, other: PartnerTable): Link | null {
  const one = singular(other.name)
  const from = table.columns.find(({ name }) => keyEndings.some((ending) => plain(name) === `${one}${ending}`))
  if (from === undefined) return null
  const to = other.columns.find(({ name }) => [plain(from.name), 'id'].includes(plain(name)))
  return to === undefined ? null : { from: from.name, to: to.name }
}

/** The first column of a table is its key more often than not: hotel_id of `properties`, which others have too. */
function byFirstColumn(table: PartnerTable, other: PartnerTable): Link | null {
  const [key] = other.columns
  if (key === undefined || !/(id|key|no|code)$/.test(plain(key.name)) || plain(key.name) === 'id') return null
  const from = table.columns.find(({ name }) => plain(name) === plain(key.name))
  return from === undefined ? null : { from: from.name, to: key.name }
}

/** Names under which people keep what a stream's column means, best first; the column's own name stands before them. */
const alike: Readonly<Record<string, readonly string[]>> = {
  partner_id: [
    ...['code', 'property_code', 'external_id', 'external_code', 'ext_id', 'ext_code', 'property_number', 'number'],
    ...['hotel_number', 'hotel_no', 'site_code', 'site_id', 'own_id'],
  ],
  name: ['title', 'display_name', 'property_name'],
  street: [
    ...['address', 'street_address', 'address1', 'address_line1', 'address_line_1', 'street_line', 'street_name'],
    ...['street1', 'addr'],
  ],
  latitude: ['lat'],
  longitude: ['lon', 'lng', 'long'],
  country_code: ['country', 'country_iso', 'iso_country', 'country_iso2', 'land'],
  airport_code: ['airport', 'iata', 'iata_code', 'nearest_airport'],
  hotel_code: ['giata', 'giata_id', 'giata_code', 'industry_code'],
  booking_id: ['booking_com_id', 'bookingcom_id', 'booking_hotel_id', 'booking_ref'],
  period_type: ['period_kind'],
  year: ['period_year', 'reading_year', 'reporting_year', 'yr'],
  month: ['period_month', 'reading_month', 'reporting_month', 'mon'],
  framework_id: ['framework'],
  data_point_id: ['datapoint_id', 'data_point', 'datapoint'],
  question_id: ['question'],
  field_type_id: ['field_type', 'exchange_field_type_id', 'fieldtype_id'],
  property_id: ['custom_property_id'],
  standard_id: ['standard'],
  value: ['amount', 'quantity', 'answer', 'reading', 'consumption', 'usage_value', 'reply', 'response'],
  value_type: ['answer_type'],
  unit_id: ['unit'],
  level: ['grade', 'tier'],
  start_date: ['valid_from', 'issued_on', 'issue_date', 'issued_at', 'from_date', 'start_on'],
  expiry_date: ['valid_to', 'valid_until', 'expires_on', 'expires_at', 'end_date', 'expiry'],
  automatic_yearly_calculation: ['auto_yearly_calculation', 'yearly_calculation'],
  automatic_publishing: ['auto_publishing', 'auto_publish'],
}

const cursors = [
  ...[
    'updated_at',
    'modified_at',
    'changed_at',
    'last_updated',
    'last_modified',
    'last_changed',
    'updated',
    'modified',
  ],
  ...['changed', 'modified_on', 'updated_on', 'changed_on', 'modification_date', 'update_time', 'last_update'],
]

/** A name without case and marks, so that `countryCode` and `COUNTRY_CODE` are the same. Pure. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** The plain name of a table for one of its rows. Pure. */
function singular(table: string): string {
  return plain(table).replace(/ies$/, 'y').replace(/s$/, '')
}

/**
 * How well a column's name fits what a stream's column means: 3 is its own name, 2 a name that people use for it, 1 the
 * same behind the name of the table, as in hotel.hotel_name; 0: not at all. Pure.
 */
export function likeness(wanted: string, column: string, table: string): number {
  const name = plain(column)
  if (name === plain(wanted)) return 3
  const others = (alike[wanted] ?? []).map(plain)
  if (others.includes(name)) return 2
  const one = singular(table)
  const bare = name.startsWith(one) ? name.slice(one.length) : name
  return bare !== name && (bare === plain(wanted) || others.includes(bare)) ? 1 : 0
}

/** The column by which changes of a table are found; null where none looks like it. Pure. */
export function cursorIn(columns: readonly { name: string; type: string }[]): string | null {
  const times = columns.filter(({ type }) => /time|date|text|char|^$/i.test(type))
  for (const wanted of cursors) {
    const found = times.find(({ name }) => plain(name) === plain(wanted))
    if (found !== undefined) return found.name
  }
  return null
}
