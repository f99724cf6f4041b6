import { pipeline } from 'node:stream/promises'
import { sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { copyLine } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** A partner row on its way into the ledger. */
export type StagedRow = {
  partnerId: string
  rowKey: string
  content: Record<string, unknown>
  /** Of two rows with one key the one with the higher ordinal wins; with equal ones nothing says which is newer. */
  ordinal: number
  /** What is wrong with the row, or null; undefined where its content is not whole yet, so that nobody can say. */
  reason?: string | null | undefined
  withoutCursor?: boolean
  /** Of a first snapshot: the line that the row comes from, as the partner's COPY wrote it. */
  line?: string
  /** Of a later one: the hash of that line. */
  hash?: { high: string; low: string }
}

const columns = 'ordinal, partner_id, row_key, content, judged, reason, without_cursor, line, high, low'

/**
 * Makes the temporary table in which rows wait to be compared with the ledger. Each gets the number that it will have
 * there if it is new: so what belongs to it need not be looked up again by its key, which is long.
 */
export async function createStage(trx: Transaction<Schema>): Promise<void> {
  const { rows } = await sql<{ sequence: string }>`
    select pg_get_serial_sequence('source_row', 'row_id') as sequence`.execute(trx)
  await sql`
    create temp table staged (
      row_id bigint not null default nextval(${sql.lit(rows[0]?.sequence)}),
      ordinal bigint not null,
      partner_id text not null,
      row_key text not null,
      content jsonb not null,
      judged boolean not null,
      reason text,
      without_cursor boolean not null,
      line text,
      high bigint,
      low bigint
    ) on commit drop`.execute(trx)
}

/** Takes back what was staged, where it turns out that more has to be read. */
export async function emptyStage(trx: Transaction<Schema>): Promise<void> {
  await sql`truncate staged`.execute(trx)
}

/** @param lines of `stagedLine`; may be called several times. */
export async function stageRows(client: PoolClient, lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
  await pipeline(lines, client.query(copyFrom(`copy staged (${columns}) from stdin`)))
}

/** A row in COPY's text form, which JSON passes unquoted. */
export function stagedLine(row: StagedRow): string {
  const { ordinal, partnerId, rowKey, content, reason, withoutCursor = false, line, hash } = row
  const judged = reason !== undefined
  return copyLine([
    ordinal,
    partnerId,
    rowKey,
    JSON.stringify(content),
    judged,
    reason,
    withoutCursor,
    line,
    hash?.high,
    hash?.low,
  ])
}
