import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { type CopyValue, copyLine } from './copy-text.ts'
import { type StagingTable, stagingColumns } from './staging-tables.ts'

export type StagingWriter = {
  add(table: StagingTable, row: readonly CopyValue[]): void
  /** Copies what has been added, if it is enough to be worth a round trip. Await it between elements: memory depends on it. */
  drain(): Promise<void>
  /** Copies all that has been added. */
  flush(): Promise<void>
}

/** Characters held before a COPY. Larger saves round trips, smaller saves memory; 1 Mi is some 15,000 values. */
const batchCharacters = 1024 * 1024

/**
 * Fills the staging tables through COPY. A connection runs one COPY at a time and a page mixes its tables, so rows
 * gather per table and go out in batches.
 */
export function createStagingWriter(client: pg.ClientBase): StagingWriter {
  const pending = new Map<StagingTable, string[]>()
  let characters = 0

  async function flush(): Promise<void> {
    for (const [table, lines] of pending) {
      const columns = stagingColumns[table].join(', ')
      const copy = client.query(copyFrom(`copy pg_temp.${table} (${columns}) from stdin`))
      copy.end(lines.join(''))
      await finished(copy)
    }
    pending.clear()
    characters = 0
  }

  return {
    add(table, row) {
      const line = copyLine(row)
      characters += line.length
      const lines = pending.get(table)
      if (lines === undefined) pending.set(table, [line])
      else lines.push(line)
    },
    drain: async () => {
      if (characters >= batchCharacters) await flush()
    },
    flush,
  }
}
