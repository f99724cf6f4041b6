import { sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** Notes which custom properties a page named, also those whose names could not be read; from its staging. */
export async function noteStagedProperties(trx: Transaction<Schema>, pageId: number): Promise<void> {
  await sql`
    update search_page set listed_property_ids = array(
      select lower(id) from staged_property_name
      union
      select lower(item) from staged_left_out where unit = 'property_name' and item is not null
      order by 1
    )
    where page_id = ${pageId}`.execute(trx)
}

/**
 * Which of these custom properties the pages of a search named, in lower case; null while no loaded page has said so.
 * Asked by id: what pages list is as much as their maker likes, and need not fit into memory.
 */
export async function listedProperties(
  db: Database,
  submissionId: number,
  propertyIds: readonly string[],
): Promise<ReadonlySet<string> | null> {
  const { rows } = await sql<{ known: boolean; ids: string[] }>`
    select count(listed_property_ids) > 0 as known,
      array(
        select id from unnest(${propertyIds.map((id) => id.toLowerCase())}::text[]) id
        where exists (
          select from search_page p where p.submission_id = ${submissionId} and id = any(p.listed_property_ids)
        )
      ) as ids
    from search_page
    where submission_id = ${submissionId} and state = 'loaded'`.execute(db)
  return rows[0]?.known ? new Set(rows[0].ids) : null
}

/** A custom property as the reference data have it. */
export type KnownProperty = { id: string; name: string; owned: boolean | null; owner: string | null }

/** The custom properties of the reference data in force, by id in lower case. Empty before the first fetch. */
export async function knownProperties(db: Database): Promise<ReadonlyMap<string, KnownProperty>> {
  const { rows } = await sql<KnownProperty>`
    select lower(id) as id, coalesce(document ->> 'name', '') as name,
      (document ->> 'isOwnedByInvokingCompany')::boolean as owned, document ->> 'ownerName' as owner
    from reference_data where kind = 'custom_property'`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** What the pages of the newest search that has ended left out of what it asked for, as it was judged then. */
export async function lastLeftOut(db: Database): Promise<{ run_id: number; property_ids: string[] } | null> {
  const { rows } = await sql<{ run_id: number; property_ids: string[] }>`
    select run_id, array(
      select element ->> 'property_id' from jsonb_array_elements(search_result -> 'left_out_properties') element
    ) as property_ids
    from submission
    where search_result -> 'left_out_properties' is not null
    order by submission_id desc
    limit 1`.execute(db)
  return rows[0] ?? null
}
