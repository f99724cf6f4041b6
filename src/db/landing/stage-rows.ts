import { pipeline } from 'node:stream/promises'
import { sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Schema } from '../tables/schema.ts'

/** A partner row on its way into the ledger. */
export type StagedRow = {
  partnerId: string
  rowKey: string
  content: Record<string, unknown>
  /** Of two rows with one key the one with the higher ordinal wins. */
  ordinal: number | string
  withoutCursor?: boolean
  /** The line of a snapshot that it comes from. */
  line?: { high: string; low: string }
}

const columns = 'ordinal, partner_id, row_key, content, without_cursor, high, low'

/** Makes the temporary table in which rows wait to be compared with the ledger. */
export async function createStage(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table staged (
      ordinal bigint not null,
      partner_id text not null,
      row_key text not null,
      content jsonb not null,
      without_cursor boolean not null,
      high bigint,
      low bigint
    ) on commit drop`.execute(trx)
}

/** @param lines of `stagedLine`; may be called several times. */
export async function stageRows(client: PoolClient, lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
  await pipeline(lines, client.query(copyFrom(`copy staged (${columns}) from stdin with (format csv)`)))
}

/** A row in COPY's CSV form. */
export function stagedLine({ ordinal, partnerId, rowKey, content, withoutCursor = false, line }: StagedRow): string {
  const texts = [partnerId, rowKey, JSON.stringify(content)].map((text) => `"${text.replaceAll('"', '""')}"`)
  return `${ordinal},${texts.join(',')},${withoutCursor},${line?.high ?? ''},${line?.low ?? ''}\n`
}
