import type { LookupReading, LookupsRead } from '../../../db/tables/run-tables.ts'
import { unknownCode } from '../../streams/rules/unknown-code.ts'
import type { ColumnLookups, Lookup } from './read-lookup.ts'

/** What a code stands for; of one that the lookup does not know, a text that makes its row invalid. Pure. */
export function translated({ ids, name, file }: Lookup, code: string): string {
  return ids.get(code) ?? unknownCode(code, name, file)
}

/** What is kept of the lookups by which a stream is read. Pure. */
export function lookupsRead(lookups: ColumnLookups): LookupsRead {
  return Object.fromEntries(
    Array.from(lookups, ([column, { name, file, digest, ids }]): [string, LookupReading] => [
      column,
      { lookup: name, file, digest, codes: ids.size },
    ]),
  )
}

/**
 * What is different about the lookups of a stream since it was last read, as clauses; null where nothing is. A stream
 * that was read before lookups were kept had none. Pure.
 */
export function lookupChange(before: LookupsRead | null, now: LookupsRead): string | null {
  const columns = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now)])].sort()
  const changes = columns.flatMap((column) => {
    const [was, is] = [before?.[column], now[column]]
    if (was === undefined) return is === undefined ? [] : [`${column} is now looked up in ${named(is)}`]
    if (is === undefined) return [`${column} is no longer looked up in ${named(was)}`]
    if (was.lookup !== is.lookup) return [`${column} was looked up in ${named(was)} and is in ${named(is)}`]
    if (was.digest === is.digest && was.file === is.file) return []
    return [`${named(is)} of ${column} was changed: it had ${was.codes} codes and has ${is.codes}`]
  })
  return changes.length === 0 ? null : changes.join('; ')
}

function named({ lookup, file }: LookupReading): string {
  return `${lookup} (${file})`
}
