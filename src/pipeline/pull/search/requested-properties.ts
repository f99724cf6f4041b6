import { sql, type Transaction } from 'kysely'
import type { SearchSettings } from '../../../config/job-settings.ts'
import type { Config } from '../../../config/schema.ts'
import type { Database } from '../../../db/database.ts'
import { isOfDestination } from '../../../db/runs/newest-runs.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { LeftOutProperty } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { searchKind } from '../../streams/kind-names.ts'

/**
 * The custom properties that a search asked for and its pages did not name: a requested id that the profile does not
 * own is silently left out, not rejected (specification, Calculator search result page). Empty while no page has said.
 */
export async function leftOutProperties(
  db: Database,
  submissionId: number,
  requested: readonly string[],
): Promise<LeftOutProperty[]> {
  if (requested.length === 0) return []
  const listed = await listedProperties(db, submissionId, requested)
  if (listed === null) return []
  const missing = requested.filter((id) => !listed.has(id.toLowerCase()))
  return missing.length === 0 ? [] : explain(missing, await knownProperties(db))
}

/** The custom properties that a search is going to ask for and that, by the reference data, it will not get. */
export async function doubtfulProperties(db: Database, requested: readonly string[]): Promise<LeftOutProperty[]> {
  if (requested.length === 0) return []
  return explain(requested, await knownProperties(db)).filter(({ why }) => why !== 'unexplained')
}

/** What stands now: what the last search left out of what is still asked for, and what the next will not get. */
export async function missingProperties(
  db: Database,
  requested: readonly string[],
): Promise<{ left_out: LeftOutProperty[]; left_out_in_run: number | null; doubtful: LeftOutProperty[] }> {
  const last = await lastLeftOut(db)
  const then = new Set((last?.property_ids ?? []).map((id) => id.toLowerCase()))
  const missing = requested.filter((id) => then.has(id.toLowerCase()))
  const left_out = missing.length === 0 ? [] : explain(missing, await knownProperties(db))
  const doubtful = (await doubtfulProperties(db, requested)).filter(({ property_id }) => !missing.includes(property_id))
  return { left_out, left_out_in_run: left_out.length === 0 ? null : (last?.run_id ?? null), doubtful }
}

/** Why properties are left out, as far as the reference data tell. Pure. */
function explain(ids: readonly string[], known: ReadonlyMap<string, KnownProperty>): LeftOutProperty[] {
  return [...new Set(ids)].map((property_id) => {
    const property = known.get(property_id.toLowerCase())
    if (property === undefined) {
      return { property_id, name: null, owner: null, why: known.size === 0 ? 'unexplained' : 'unknown' }
    }
    const { name, owned, owner } = property
    return { property_id, name, owner, why: owned === false ? 'not_owned' : 'unexplained' }
  })
}

/** Custom properties that a setting asks for and that do not come back. */
export type UnobtainableProperties = {
  setting: string
  /** That the reference data do not hold. */
  ids: string[]
  /** Of another profile, which only the calculator search reports itself. */
  foreign: LeftOutProperty[]
}

/**
 * What the settings ask for that the service does not give, as far as the reference data in force tell: what exists
 * nowhere, and, of the searches for documents, what another profile owns. A service leaves such ids out without a word,
 * and a search that brings no page says nothing of them either. Empty before the first fetch.
 *
 * @param told ids that the report names already, because the pages of the search left them out.
 */
export async function unobtainableProperties(
  db: Database,
  { customPropertyIds, searches }: Pick<Config['pull'], 'customPropertyIds' | 'searches'>,
  { names }: Pick<Contract, 'names'>,
  told: ReadonlySet<string>,
): Promise<UnobtainableProperties[]> {
  const members: Partial<Record<SearchSettings['search'], string>> = {
    companiesSearch: names.companiesSearch.customPropertyIds,
    frameworkAnswersSearch: names.frameworkAnswersSearch.customPropertyIds,
  }
  const asked = [
    { setting: 'pull.customPropertyIds', ids: customPropertyIds.filter((id) => !told.has(id)), ofDocuments: false },
    ...searches.map(({ name, search, body }) => {
      const member = members[search]
      const ids: unknown = member === undefined ? [] : body[member]
      const setting = `The search ${name} in pull.searches`
      return { setting, ids: Array.isArray(ids) ? ids.filter(isText) : [], ofDocuments: true }
    }),
  ]
  const found: UnobtainableProperties[] = []
  for (const { setting, ids, ofDocuments } of asked) {
    const doubtful = await doubtfulProperties(db, ids)
    const unknown = doubtful.filter(({ why }) => why === 'unknown').map(({ property_id }) => property_id)
    const foreign = doubtful.filter(({ why }) => ofDocuments && why === 'not_owned')
    if (unknown.length + foreign.length > 0) found.push({ setting, ids: unknown, foreign })
  }
  return found
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

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
async function listedProperties(
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
type KnownProperty = { id: string; name: string; owned: boolean | null; owner: string | null }

/** The custom properties of the reference data in force, by id in lower case. Empty before the first fetch. */
async function knownProperties(db: Database): Promise<ReadonlyMap<string, KnownProperty>> {
  const { rows } = await sql<KnownProperty>`
    select lower(id) as id, coalesce(document ->> 'name', '') as name,
      (document ->> 'isOwnedByInvokingCompany')::boolean as owned, document ->> 'ownerName' as owner
    from reference_data where kind = 'custom_property'`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * What the pages of the newest search at the destination in use that has ended left out of what it asked for, as it was
 * judged then.
 */
async function lastLeftOut(db: Database): Promise<{ run_id: number; property_ids: string[] } | null> {
  const { rows } = await sql<{ run_id: number; property_ids: string[] }>`
    select run_id, array(
      select element ->> 'property_id' from jsonb_array_elements(search_result -> 'left_out_properties') element
    ) as property_ids
    from submission
    where kind = ${searchKind} and search_result -> 'left_out_properties' is not null and ${isOfDestination}
    -- In the order of an index, for few of all requests are searches; this one has no partition.
    order by partition desc, submission_id desc
    limit 1`.execute(db)
  return rows[0] ?? null
}
