import { sql, type Transaction } from 'kysely'
import { storableJson } from '../storable.ts'
import type { ReferenceKind } from '../tables/reference-data.ts'
import type { Schema } from '../tables/schema.ts'

export type ReferenceChanges = { stored: number; gone: number }

/**
 * Replaces the cached reference data with what was just fetched; documents that did not change are not written.
 * @returns how many documents are new or different, and how many the service no longer lists.
 */
export async function storeReferenceData(
  trx: Transaction<Schema>,
  documents: Readonly<Record<ReferenceKind, readonly { id: string }[]>>,
  fetchedAt: Date,
): Promise<ReferenceChanges> {
  const rows = Object.entries(documents).flatMap(([kind, list]) =>
    list.map((document) => ({ kind, id: document.id, document })),
  )
  const { rows: counts } = await sql<ReferenceChanges>`
    with fetched as (
      select distinct on (kind, id) * from jsonb_to_recordset(${storableJson(rows)}::jsonb) as _(kind text, id text, document jsonb)
      order by kind, id
    ),
    gone as (
      delete from reference_data held
      where not exists (select from fetched where fetched.kind = held.kind and fetched.id = held.id)
      returning 1
    ),
    stored as (
      insert into reference_data as held (kind, id, document, fetched_at, changed_at)
      select kind, id, document, ${fetchedAt}, ${fetchedAt} from fetched
      on conflict (kind, id) do update
      set document = excluded.document, fetched_at = excluded.fetched_at, changed_at = excluded.changed_at
      where held.document is distinct from excluded.document
      returning 1
    )
    select (select count(*) from stored) as stored, (select count(*) from gone) as gone`.execute(trx)
  return counts[0] ?? { stored: 0, gone: 0 }
}
