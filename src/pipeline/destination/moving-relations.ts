import { sql, type Transaction } from 'kysely'
import { schemaName } from '../../db/migrate-to-latest.ts'
import type { Schema } from '../../db/tables/database-schema.ts'

/** A table or view of the destination in use. */
export type Relation = { name: string; view: boolean }

/** The tables of the destination in use, and the views that read any of them, each after those that it reads. */
export async function movingRelations(trx: Transaction<Schema>): Promise<Relation[]> {
  const { rows } = await sql<Relation>`
    with recursive moving as (
      select oid, relname, relkind, 0 as depth from pg_class
      where relnamespace = ${schemaName}::regnamespace and relkind in ('r', 'p')
        and relname <> all(${sharedTables}::text[]) and relname not like 'kysely\\_%'
      union
      select reading.oid, reading.relname, reading.relkind, moving.depth + 1
      from moving
      join pg_depend on pg_depend.refobjid = moving.oid and pg_depend.refclassid = 'pg_class'::regclass
        and pg_depend.classid = 'pg_rewrite'::regclass
      join pg_rewrite on pg_rewrite.oid = pg_depend.objid
      join pg_class reading on reading.oid = pg_rewrite.ev_class and reading.oid <> moving.oid
      where reading.relkind = 'v' and reading.relnamespace = ${schemaName}::regnamespace
    )
    select relname as name, relkind = 'v' as view from moving group by relname, relkind
      order by max(depth), relname`.execute(trx)
  return rows
}

/**
 * Tables that belong to no destination: what the partner has, what was done, and the queue of the run at work. Every
 * other table of the schema says what one destination took or showed, and moves out of the way when another is put to
 * use. A test compares this list with the schema, so that a new table cannot be forgotten.
 */
export const sharedTables: readonly string[] = [
  'action',
  'candidate',
  'destination',
  'destination_key',
  'ended_submission',
  'guard_plan',
  'judging_basis',
  'kind_sweep',
  'job_pause',
  'job_request',
  'job_waiting',
  'notification',
  'notification_mark',
  'null_cursor_row',
  'row_change',
  'row_finding',
  'run',
  'run_step',
  'run_stream',
  'run_tally',
  'search_page',
  'service_key',
  'snapshot_bucket',
  'snapshot_line',
  'source_row',
  'staged_outcome',
  'stream_reading',
  'stream_snapshot',
  'stream_watermark',
  'submission',
  'submission_payload',
  'submission_release',
  'submission_row',
  'webhook_event',
  'webhook_receiver',
  'webhook_refusal',
]
