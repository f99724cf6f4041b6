import { copyText, valuesOf } from '../../../db/copy-text.ts'
import type { DeltaQuery, PartnerSnapshot, StreamQuery } from '../../../partner/dialect.ts'
import { unknownCodeIn } from '../../streams/rules/unknown-code.ts'
import { wholeLines } from '../landing/snapshot-lines.ts'
import { translated } from './lookups-in-use.ts'
import type { ColumnLookups, Lookup } from './read-lookup.ts'

/** The place of a column among the values of a row, and the lookup of its codes. */
type Place = { at: number; lookup: Lookup }

type Row = (string | null)[]

/**
 * A snapshot as it would be if the partner's queries said ids of the service: all that reads it, hashes its lines or
 * makes keys of its rows meets translated rows alone. Cursors are left as they are, and null stays null.
 * @param lookups of each stream that has any.
 */
export function translatedSnapshot(
  snapshot: PartnerSnapshot,
  lookups: ReadonlyMap<string, ColumnLookups>,
): PartnerSnapshot {
  if (lookups.size === 0) return snapshot
  const { server, lacks, openMs, clock } = snapshot
  const placesOf = ({ stream, columns }: StreamQuery) => {
    const known = lookups.get(stream) ?? new Map<string, Lookup>()
    return Array.from(known, ([column, lookup]): Place => ({ at: columns.indexOf(column), lookup }))
  }
  return {
    server,
    lacks,
    openMs,
    clock,
    check: (query) => snapshot.check(query),
    cursorType: (query) => snapshot.cursorType(query),
    explain: (query) => snapshot.explain(query),
    hasRows: (query) => snapshot.hasRows(query),
    delta: (query) => {
      const places = placesOf(query)
      if (places.length === 0) return snapshot.delta(query)
      const only = query.only && coded(query.only, lookups.get(query.stream)?.get(query.only.column))
      return translatedRows(snapshot.delta({ ...query, ...(only && { only }) }), places)
    },
    all: (query) => {
      const places = placesOf(query)
      const all = snapshot.all(query)
      if (places.length === 0) return all
      const newest = async () => {
        const found = await all.newest()
        return found && { ...found, row: translatedRow(found.row, places) }
      }
      return { ...all, rows: translatedRows(all.rows, places), newest }
    },
    lines: (query) => {
      const places = placesOf(query)
      return places.length === 0 ? snapshot.lines(query) : translatedLines(snapshot.lines(query), places)
    },
    close: () => snapshot.close(),
  }
}

/** A row of its own: the dialect may still look at the one that it gave. */
function translatedRow(row: Row, places: readonly Place[]): Row {
  const copy = row.slice()
  for (const { at, lookup } of places) {
    const code = copy[at]
    if (code != null) copy[at] = translated(lookup, code)
  }
  return copy
}

async function* translatedRows(batches: AsyncIterable<Row[]>, places: readonly Place[]): AsyncGenerator<Row[]> {
  for await (const rows of batches) yield rows.map((row) => translatedRow(row, places))
}

async function* translatedLines(pieces: AsyncIterable<Buffer>, places: readonly Place[]): AsyncGenerator<Buffer> {
  for await (const lines of wholeLines(pieces)) {
    const written = lines
      .toString()
      .split('\n')
      .map((line) => translatedLine(line, places))
    yield Buffer.from(`${written.join('\n')}\n`)
  }
}

/** All other fields stay byte for byte as the server wrote them. */
function translatedLine(line: string, places: readonly Place[]): string {
  const fields = line.split('\t')
  for (const { at, lookup } of places) {
    const [code = null] = valuesOf(fields[at] ?? '')
    if (code !== null) fields[at] = copyText(translated(lookup, code))
  }
  return fields.join('\t')
}

/** Hotels by what the partner calls them, where the lookup translates that: several codes may stand for one id. */
function coded(only: NonNullable<DeltaQuery['only']>, lookup: Lookup | undefined): DeltaQuery['only'] {
  if (lookup === undefined) return only
  const wanted = new Set(only.partnerIds)
  const known = Array.from(lookup.ids).flatMap(([code, id]) => (wanted.has(id) ? [code] : []))
  const unknown = only.partnerIds.map((id) => unknownCodeIn(id)?.code ?? id)
  return { column: only.column, partnerIds: [...new Set([...known, ...unknown])] }
}
