import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { ReferenceChange, ReferenceKind, ReferenceVersion } from '../../db/tables/service-tables.ts'

export type CachedDocument = {
  kind: ReferenceKind
  id: string
  name: string
  version: number
  changed_at: Date
  questions: number | null
  data_points: number | null
}

/** What is cached, by kind and name. */
export async function cachedDocuments(db: Database): Promise<CachedDocument[]> {
  const { rows } = await sql<CachedDocument>`
    select kind, id, coalesce(document ->> 'title', document ->> 'name', '') as name, version, changed_at,
           jsonb_array_length(document -> 'questionIds') as questions,
           jsonb_array_length(document -> 'dataPoints') as data_points
    from reference_data
    order by kind, name, id`.execute(db)
  return rows
}

/** The versions kept, newest first. */
export async function referenceVersions(db: Database): Promise<ReferenceVersion[]> {
  return await db.selectFrom('reference_version').selectAll().orderBy('version', 'desc').execute()
}

/** What versions after `from`, up to `to`, changed, in order. */
export async function referenceChanges(
  db: Database,
  from: number,
  to: number,
): Promise<(ReferenceChange & { version: number })[]> {
  return await db
    .selectFrom('reference_change')
    .select(['version', 'kind', 'document_id', 'document_name', 'item', 'item_id', 'item_name', 'within_id', 'change'])
    .select('detail')
    .where('version', '>', from)
    .where('version', '<=', to)
    .orderBy('version')
    .orderBy('ordinal')
    .execute()
}

/** Versions that a run made. */
export async function versionsOfRuns(db: Database, runIds: readonly number[]): Promise<ReferenceVersion[]> {
  const all = db.selectFrom('reference_version').selectAll()
  return await all
    .where('run_id', 'in', [...runIds])
    .orderBy('version')
    .execute()
}

/** How many rows of the ledger use what versions removed from each document, by its id. */
export async function rowsUsingRemoved(db: Database, versions: readonly number[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ document_id: string; rows: number }>`
    with removed as materialized (
      select document_id, item, lower(item_id) as item_id, lower(within_id) as within_id
      from reference_change
      where version = any(${versions}::integer[]) and change = 'removed' and kind = 'framework'
    ),
    using_rows as (
      select document_id, row_id
      from removed join source_row row on lower(row.content ->> 'data_point_id') = removed.item_id
      where item = 'data_point' and row.stream = 'framework_answers' and row.gone_at is null
        and lower(coalesce(row.content ->> 'framework_id', document_id)) = lower(document_id)
      union
      select document_id, row_id
      from removed join source_row row on lower(row.content ->> 'question_id') = removed.item_id
      where item = 'question' and row.stream = 'omissions' and row.gone_at is null
      union
      select document_id, row_id
      from removed join source_row row on lower(row.content ->> 'data_point_id') = removed.within_id
      where item in ('option', 'unit') and row.stream = 'framework_answers' and row.gone_at is null
        and (lower(row.content ->> 'unit_id') = item_id or position(item_id in lower(row.content ->> 'value')) > 0)
    )
    select document_id, count(*) as rows from using_rows group by document_id`.execute(db)
  return new Map(rows.map(({ document_id, rows: count }) => [document_id, count]))
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
