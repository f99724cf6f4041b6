import type { RowContent } from '../../streams/rules/row-content.ts'
import type { ColumnLookups, Lookup } from './read-lookup.ts'

/** Codes of the partner that stand for one text of its rows, by a lookup as its file is now. */
export type CodesBehind = {
  stream: string
  column: string
  /** What the rows say. */
  id: string
  lookup: string
  file: string
  codes: string[]
}

/**
 * The codes behind what rows say: what the partner calls it that the ledger knows by an id. Each id once; none where
 * the lookup does not lead to what a row says, as since it was changed. Pure.
 * @param idColumnOf the column of a stream that holds the hotel's id, which is not in the content of its rows.
 */
export function codesBehind(
  partnerId: string,
  rows: readonly { stream: string; content: RowContent }[],
  lookups: ReadonlyMap<string, ColumnLookups>,
  idColumnOf: (stream: string) => string,
): CodesBehind[] {
  const found: CodesBehind[] = []
  for (const [stream, columns] of lookups) {
    const ofStream = rows.filter((row) => row.stream === stream)
    for (const [column, lookup] of columns) {
      const isOfHotel = column === idColumnOf(stream)
      const said = new Set(ofStream.flatMap(({ content }) => (isOfHotel ? [partnerId] : textsOf(content, column))))
      for (const [id, codes] of codesOf(lookup, said)) {
        found.push({ stream, column, id, lookup: lookup.name, file: lookup.file, codes })
      }
    }
  }
  return found
}

/** What a row says in a column. Of parts the column with their names is in the content as these names. */
function textsOf(content: RowContent, column: string): string[] {
  const { inputs, [column]: text } = content
  if (column === 'field_type_id' && typeof inputs === 'object' && inputs !== null) return Object.keys(inputs)
  return typeof text === 'string' ? [text] : []
}

function codesOf({ ids }: Lookup, said: ReadonlySet<string>): Map<string, string[]> {
  const codes = new Map<string, string[]>()
  for (const [code, id] of ids) if (said.has(id)) codes.set(id, [...(codes.get(id) ?? []), code])
  return codes
}
