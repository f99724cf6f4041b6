import { sql, type Transaction } from 'kysely'
import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import { storableJson } from '../../db/copy-text.ts'
import type { Database } from '../../db/database.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type {
  ReferenceChange,
  ReferenceKind,
  ReferenceVersion,
  UntakenReference,
} from '../../db/tables/service-tables.ts'
import { documentKey, type FetchedDocuments, type ReferenceDocument } from './reference-items.ts'

/**
 * Versions whose changes and documents are kept. At one a week that is half a year; a service that changes daily leaves
 * a month.
 */
export const versionsKept = 30

/** What a fetch came to: the version in force after it, and how many things it changed. */
export type StoredReference = { version: number; changes: number }

/** Two fetches at once would make one version of two; the second waits here for the first. */
export async function lockReferenceData(trx: Transaction<Schema>): Promise<void> {
  await sql`lock table reference_version in exclusive mode`.execute(trx)
}

/** The documents in force, without `raw`. */
export async function documentsInForce(trx: Transaction<Schema>): Promise<ReferenceDocument[]> {
  const { rows } = await sql<ReferenceDocument>`
    select kind, id, document - 'raw' as document from reference_data order by kind, id`.execute(trx)
  return rows
}

/** Documents as they will be read back: each once, with what Postgres cannot keep replaced. */
export function storableDocuments(fetched: FetchedDocuments): ReferenceDocument[] {
  const documents = Object.entries(fetched).flatMap(([kind, list]) =>
    list.map((document) => ({ kind: kind as ReferenceKind, id: document.id, document })),
  )
  const once = new Map(documents.map((document) => [documentKey(document), document]))
  // Each by itself: a hundred frameworks as one text are as much memory again, several times.
  return [...once.values()].map((document) => JSON.parse(storableJson(document)) as ReferenceDocument)
}

/**
 * Replaces the reference data with what was just fetched. Documents that did not change are not written. Where
 * something differs that rows are judged by, a new version is made, what it replaces is kept, and what is older than
 * `versionsKept` versions is dropped; else the version in force is confirmed.
 *
 * @param changes of `documents` against those in force. Empty although a document changed: nothing of it is read here.
 */
export async function storeReferenceData(
  trx: Transaction<Schema>,
  documents: readonly ReferenceDocument[],
  changes: readonly ReferenceChange[],
  { fetchedAt, runId, acceptedBy }: { fetchedAt: Date; runId: number | null; acceptedBy: string | null },
): Promise<StoredReference> {
  const { rows } = await sql<{ version: number }>`
    select coalesce(max(version), 0) as version from reference_version`.execute(trx)
  const before = rows[0]?.version ?? 0
  const isNew = changes.length > 0 || before === 0
  const version = isNew ? before + 1 : before
  if (isNew) {
    await keepPast(trx, version, changes)
    await sql`
      insert into reference_version (version, run_id, fetched_at, confirmed_at, documents, changes, accepted_by)
      values (${version}, ${runId}, ${fetchedAt}, ${fetchedAt}, ${documents.length}, ${changes.length},
        ${acceptedBy})`.execute(trx)
    await insertChanges(trx, version, changes)
    await sql`delete from reference_version where version <= ${version - versionsKept}`.execute(trx)
    // The shadow of a plan has no foreign keys that would do so.
    await sql`delete from reference_change where version <= ${version - versionsKept}`.execute(trx)
    await sql`delete from reference_past where until_version <= ${version - versionsKept}`.execute(trx)
  } else {
    await sql`update reference_version set confirmed_at = ${fetchedAt} where version = ${version}`.execute(trx)
  }
  await replaceDocuments(trx, documents, changes, version, fetchedAt)
  await sql`delete from reference_withheld`.execute(trx)
  return { version, changes: changes.length }
}

/** What a new version replaces or removes. */
async function keepPast(trx: Transaction<Schema>, version: number, changes: readonly ReferenceChange[]): Promise<void> {
  await sql`
    insert into reference_past (kind, id, from_version, until_version, document)
    select kind, id, version, ${version}, document - 'raw'
    from reference_data
    where exists (
      select from jsonb_to_recordset(${storableJson(changes)}::jsonb) as change(kind text, document_id text)
      where change.kind = reference_data.kind and lower(change.document_id) = lower(reference_data.id))`.execute(trx)
}

async function insertChanges(
  trx: Transaction<Schema>,
  version: number,
  changes: readonly ReferenceChange[],
): Promise<void> {
  const rows = changes.map((change, ordinal) => ({ ...change, ordinal }))
  await sql`
    insert into reference_change
      (version, ordinal, kind, document_id, document_name, item, item_id, item_name, within_id, change, detail)
    select ${version}::integer, ordinal, kind, document_id, document_name, item, item_id, item_name, within_id, change,
      detail
    from jsonb_to_recordset(${storableJson(rows)}::jsonb) as _(
      ordinal integer, kind text, document_id text, document_name text, item text, item_id text, item_name text,
      within_id text, change text, detail text)`.execute(trx)
}

async function replaceDocuments(
  trx: Transaction<Schema>,
  documents: readonly ReferenceDocument[],
  changes: readonly ReferenceChange[],
  version: number,
  fetchedAt: Date,
): Promise<void> {
  const changed = new Set(changes.map(({ kind, document_id: id }) => documentKey({ kind, id })))
  for (const rows of inBatches(documents.map((one) => ({ ...one, changed: changed.has(documentKey(one)) })))) {
    await sql`
      insert into reference_data as known (kind, id, document, fetched_at, changed_at, version)
      -- A document that only comes in another spelling is of the version that it was of.
      select kind, id, document, ${fetchedAt}, ${fetchedAt}, coalesce((
          select max(version) from reference_data before
          where not changed and before.kind = fetched.kind and lower(before.id) = lower(fetched.id)
        ), ${version}::integer)
      from jsonb_to_recordset(${rows}::jsonb) as fetched (kind text, id text, document jsonb, changed boolean)
      on conflict (kind, id) do update
      set document = excluded.document, fetched_at = excluded.fetched_at,
          changed_at = excluded.changed_at, version = excluded.version
      where known.document is distinct from excluded.document`.execute(trx)
  }
  const [kinds, ids] = [documents.map(({ kind }) => kind), documents.map(({ id }) => id)]
  await sql`
    delete from reference_data known
    where not exists (
      select from unnest(${kinds}::text[], ${ids}::text[]) as fetched (kind, id)
      where fetched.kind = known.kind and fetched.id = known.id)`.execute(trx)
}

/** Characters of documents that travel in one statement; a larger document travels alone. */
const batchLength = 1_000_000

/** JSON lists of the documents, each of a length that is little to hold. */
function* inBatches(rows: readonly object[]): Generator<string> {
  let texts: string[] = []
  let length = 0
  for (const row of rows) {
    const text = storableJson(row)
    if (length > 0 && length + text.length > batchLength) {
      yield `[${texts.join(',')}]`
      texts = []
      length = 0
    }
    texts.push(text)
    length += text.length
  }
  if (texts.length > 0) yield `[${texts.join(',')}]`
}

/** Notes that a fetch was not taken, and why. What a person accepted of the same kind before stays accepted. */
export async function noteUntakenReference(
  trx: Transaction<Schema>,
  { reason, at, runId }: { reason: string; at: Date; runId: number | null },
): Promise<void> {
  await sql`
    insert into reference_withheld as known (run_id, reason, first_seen_at, last_seen_at, times)
    values (${runId}, ${reason}, ${at}, ${at}, 1)
    on conflict (singleton) do update
    set run_id = excluded.run_id, reason = excluded.reason, last_seen_at = excluded.last_seen_at,
        first_seen_at = case when known.reason = excluded.reason then known.first_seen_at
          else excluded.first_seen_at end,
        times = case when known.reason = excluded.reason then known.times + 1 else 1 end,
        accepted_at = case when known.reason = excluded.reason then known.accepted_at end,
        accepted_by = case when known.reason = excluded.reason then known.accepted_by end`.execute(trx)
}

/** The fetch that was not taken, if the last one was not. */
export async function untakenReference(db: Database): Promise<UntakenReference | null> {
  return (await db.selectFrom('reference_withheld').selectAll().executeTakeFirst()) ?? null
}

/**
 * Says that what was not taken is right: the next fetch that comes to the same is taken. Writes down who said so, for
 * what was not taken is forgotten then.
 * @returns what was accepted, or null where everything was taken.
 */
export async function acceptUntaken(db: Database, actor: Actor, at: Date): Promise<UntakenReference | null> {
  return await db.transaction().execute(async (trx) => {
    const accepted = await trx
      .updateTable('reference_withheld')
      .set({ accepted_at: at, accepted_by: actor.user })
      .returningAll()
      .executeTakeFirst()
    if (accepted === undefined) return null
    const asked = { accept: accepted.reason }
    await recordAction(trx, { verb: 'reference', actor, at, rows: 0, asked, result: 'the next run takes them' })
    return accepted
  })
}

/** The documents as they stood in a version that is kept, without `raw`. Version 0 holds none. */
export async function documentsAt(db: Database, version: number): Promise<ReferenceDocument[]> {
  const { rows } = await sql<ReferenceDocument>`
    select kind, id, document - 'raw' as document from reference_data where version <= ${version}
    union all
    select kind, id, document from reference_past where from_version <= ${version} and until_version > ${version}
    order by kind, id`.execute(db)
  return version === 0 ? [] : rows
}

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
