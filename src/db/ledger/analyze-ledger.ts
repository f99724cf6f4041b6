import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** Grown by more than this since they were last looked at, tables are not what the planner believes. */
const grownBy = 1.5

/**
 * Tells the planner of what has landed, where much has. The server would find out by itself, minutes later, and until
 * then the planner takes it that hardly any row is still at the partner: it reads all of the ledger for every property.
 * Contents are left out: they are long, and no plan depends on them.
 */
export async function analyzeLedger(db: Database): Promise<void> {
  const { rows } = await sql<{ grown: boolean }>`
    select pg_relation_size(oid) / current_setting('block_size')::integer > ${grownBy}::numeric * relpages as grown
    from pg_class where oid = 'source_row'::regclass`.execute(db)
  if (rows[0]?.grown !== true) return
  // Side by side: each takes one processor of the server. The last is empty where no stream is read by snapshot.
  await Promise.all([
    sql`analyze (skip_locked) source_row (row_id, stream, partner_id, row_key, gone_at, guard_run, contradiction)`.execute(
      db,
    ),
    sql`analyze (skip_locked) acceptance`.execute(db),
    sql`analyze (skip_locked) snapshot_line (stream, bucket, high, low)`.execute(db),
  ])
}
