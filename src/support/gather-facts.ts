import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { newestRuns } from '../db/runs/listed-rows.ts'
import { schemaName } from '../db/schema-standing.ts'
import { connectionsAtWork, databaseBytes, serverFacts, tableFacts } from '../doctor/own-database-facts.ts'

/** Runs and requests that are told; with them a report of a bad month is a few megabytes. */
const newest = { runs: 30, submissions: 500 }

/** Each part of what the database tells of itself, by the name of its file. A part that fails says why. */
export const databaseFacts: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  'server.json': async (db) => ({
    ...(await serverFacts(db)),
    database_bytes: await databaseBytes(db),
    connections_at_work: await connectionsAtWork(db),
    settings: await serverSettings(db),
  }),
  'tables.json': tableFacts,
  'migrations.json': migrations,
  'queue.json': queueState,
  'runs.json': (db) => newestRuns(db, newest.runs),
  'submissions.json': newestSubmissions,
  'ledger.json': ledgerCounts,
}

async function serverSettings(db: Database): Promise<unknown> {
  const names = ['max_connections', 'shared_buffers', 'work_mem', 'autovacuum', 'max_wal_size', 'jit', 'TimeZone']
  const { rows } = await sql`
    select name, setting, unit from pg_settings where name = any(${names}) order by name`.execute(db)
  return rows
}

async function migrations(db: Database): Promise<unknown> {
  const { rows } = await sql`
    select name, timestamp from ${sql.id(schemaName, 'kysely_migration')} order by name`.execute(db)
  return rows
}

async function queueState(db: Database): Promise<unknown> {
  const { rows } = await sql`
    select name as queue, state::text as state, count(*) as jobs, min(created_on) as oldest, max(retry_count) as retries
    from ${sql.id(`${schemaName}_queue`, 'job')} group by name, state order by name, state`.execute(db)
  return rows
}

/** Neither the task nor what was said of rows: those quote them. */
async function newestSubmissions(db: Database): Promise<unknown> {
  return await db
    .selectFrom('submission')
    .select(['submission_id', 'run_id', 'kind', 'state', 'row_count', 'parent_id', 'depth', 'correlation_id'])
    .select(['attempts', 'repeats', 'failures', 'failing_since', 'polls', 'task_status', 'payload_bytes', 'error_code'])
    .select(['unmatched_count', 'rest_outcome', 'rest_code', 'planned_at', 'attempted_at', 'uncertain_since'])
    .select(['accepted_at', 'polled_at', 'terminal_at', 'settled_at', 'too_large', 'overdue_since'])
    .orderBy('submission_id', 'desc')
    .limit(newest.submissions)
    .execute()
}

async function ledgerCounts(db: Database): Promise<unknown> {
  const { rows } = await sql`
    select stream, count(*) as rows, count(*) filter (where gone_at is not null) as gone
    from source_row group by stream order by stream`.execute(db)
  return rows
}
