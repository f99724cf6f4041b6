import { sql, type Transaction } from 'kysely'
import type pg from 'pg'
import { copyReady } from '../../../db/copy-ready.ts'
import { type CopyValue, copyLine } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** Where a page lies until its merge, with the columns that COPY fills, in order. */
const columns = {
  staged_document: ['position', 'list', 'document_id', 'document'],
  staged_left_out: ['list', 'ordinal', 'document_id', 'reason', 'excerpt'],
} as const

type DocumentStaging = keyof typeof columns

/** Makes the temporary tables of one page; they vanish with the transaction, however it ends. */
export async function createDocumentStaging(trx: Transaction<Schema>): Promise<void> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  await sql`
    create temporary table staged_document (
      position integer not null, list text not null, document_id text collate "C", document jsonb not null
    ) on commit drop`.execute(trx)
  await sql`
    create temporary table staged_left_out (
      seq bigint generated always as identity, list text not null, ordinal integer, document_id text collate "C",
      reason text not null, excerpt text not null
    ) on commit drop`.execute(trx)
}

/** Characters kept before a COPY. Larger saves round trips, smaller saves memory. */
const batchCharacters = 1024 * 1024

export type DocumentWriter = {
  add(table: DocumentStaging, row: readonly CopyValue[]): void
  /**
   * Copies what has been added, if it is enough to be worth a round trip. Await it between elements: memory depends on
   * it.
   */
  drain(): Promise<void>
  /** Copies all that has been added. */
  flush(): Promise<void>
}

/** Fills the staging tables through COPY; a connection runs one at a time, so rows gather per table. */
export function createDocumentWriter(client: pg.ClientBase): DocumentWriter {
  const pending = new Map<DocumentStaging, string[]>()
  let characters = 0
  const flush = async (): Promise<void> => {
    const copies = [...pending].map(([table, lines]) => ({
      into: `pg_temp.${table} (${columns[table].join(', ')})`,
      rows: [Buffer.from(lines.join(''))],
    }))
    await copyReady(client, copies)
    pending.clear()
    characters = 0
  }
  return {
    add: (table, row) => {
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
