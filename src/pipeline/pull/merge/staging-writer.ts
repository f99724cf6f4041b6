import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { type CopyValue, copyLine } from '../../../db/copy-text.ts'
import type { Turns } from '../../../db/turns.ts'
import { createCompanyStaging, isOfCompanies, type StagingTable, stagingColumns } from './staging-tables.ts'

export type StagingWriter = {
  add(table: StagingTable, row: readonly CopyValue[]): void
  /** Whether a company was added; if none was, there are no tables for them. */
  holdsCompanies(): boolean
  /**
   * Begins to copy what has been added, if it is enough to be worth a round trip, once the copy before is done. Await
   * it between elements: memory depends on it.
   */
  drain(): Promise<void>
  /** Copies all that has been added. */
  flush(): Promise<void>
}

/** Characters gathered for a COPY, some 15,000 values. While one batch is copied the next is made. */
const batchCharacters = 512 * 1024

/**
 * Fills the staging tables through COPY. A connection runs one COPY at a time and a page mixes its tables, so rows
 * gather per table and go out in batches.
 * @param turns of all that use the connection at the same time.
 */
export function createStagingWriter(client: pg.ClientBase, turns: Turns): StagingWriter {
  let pending = new Map<StagingTable, string[]>()
  let characters = 0
  let copying: Promise<void> = Promise.resolve()
  let companies: 'none' | 'added' | 'created' = 'none'

  async function copyNext(): Promise<void> {
    await copying
    const batch = pending
    pending = new Map()
    characters = 0
    copying = turns.take(() => copyAll(batch))
    // Anyone who drains or flushes next is told.
    copying.catch(() => {})
  }

  async function copyAll(batch: ReadonlyMap<StagingTable, readonly string[]>): Promise<void> {
    if (companies === 'added') {
      companies = 'created'
      await createCompanyStaging(client)
    }
    for (const [table, lines] of batch) {
      const columns = stagingColumns[table].join(', ')
      const copy = client.query(copyFrom(`copy pg_temp.${table} (${columns}) from stdin`))
      copy.end(lines.join(''))
      await finished(copy)
    }
  }

  return {
    holdsCompanies: () => companies !== 'none',
    add(table, row) {
      if (companies === 'none' && isOfCompanies(table)) companies = 'added'
      const line = copyLine(row)
      characters += line.length
      const lines = pending.get(table)
      if (lines === undefined) pending.set(table, [line])
      else lines.push(line)
    },
    drain: async () => {
      if (characters >= batchCharacters) await copyNext()
    },
    flush: async () => {
      await copyNext()
      await copying
    },
  }
}
