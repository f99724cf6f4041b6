import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { keyInUse } from '../service-key/key-in-use.ts'

/** What is known of the key in use; `profile_certainty` null: its profile is not known. */
type KeyFacts = {
  api_key_id: string | null
  used_at: Date
  open_since: Date | null
  destination: string | null
  origin: string | null
  profile_certainty: string | null
  evidence: string | null
}

/** The key in use and the destination in use; null before the first call. */
export async function keyFacts(db: Database): Promise<KeyFacts | null> {
  const { rows } = await sql<KeyFacts>`
    select used_key.api_key_id, used_key.used_at, used_key.open_since, destination.name as destination,
           destination.origin, profile_certainty, evidence
    from ${keyInUse} used_key
    left join destination on destination.schema_name is null
    left join destination_key using (destination_id, fingerprint)`.execute(db)
  return rows[0] ?? null
}

/** A task of the service that one of our requests became. */
type ListedTask = {
  submission_id: number
  run_id: number
  kind: string
  state: string
  correlation_id: string | null
  task_status: string | null
  rows: number
  attempts: number
  error_code: string | null
  error_message: string | null
  attempted_at: Date | null
  settled_at: Date | null
  overdue_since: Date | null
}

/** The newest requests with their tasks, newest first; of one run, or of all. */
export async function newestTasks(db: Database, limit: number, runId: number | null = null): Promise<ListedTask[]> {
  const ofRun = runId === null ? sql`true` : sql`run_id = ${runId}`
  const { rows } = await sql<ListedTask>`
    select submission_id, run_id, kind, state, correlation_id, task_status, row_count as rows, attempts, error_code,
           error_message, attempted_at, settled_at, overdue_since
    from submission where ${ofRun} order by submission_id desc limit ${limit}`.execute(db)
  return rows
}

/** A document of the service's reference data as it is kept, without its content. */
type KeptDocument = { kind: string; id: string; name: string; version: number; changed_at: Date }

/** The documents of the reference data, those that changed last first. */
export async function keptDocuments(db: Database, limit: number): Promise<KeptDocument[]> {
  const { rows } = await sql<KeptDocument>`
    select kind, id, coalesce(document ->> 'title', document ->> 'name', '') as name, version, changed_at
    from reference_data order by version desc, kind, name, id limit ${limit}`.execute(db)
  return rows
}

/** The newest changes of the service's reference data, newest first. */
export async function newestReferenceChanges(db: Database, limit: number) {
  return await db
    .selectFrom('reference_change')
    .select(['version', 'kind', 'document_name', 'item', 'item_name', 'change'])
    .orderBy('version', 'desc')
    .orderBy('ordinal')
    .limit(limit)
    .execute()
}

/** What people did, newest first. */
export async function newestActions(db: Database, limit: number) {
  return await db
    .selectFrom('action')
    .select(['action_id', 'verb', 'acted_by', 'acted_at', 'submission_id', 'rows', 'result'])
    .orderBy('action_id', 'desc')
    .limit(limit)
    .execute()
}
