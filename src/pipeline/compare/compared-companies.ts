import { sql, type Transaction } from 'kysely'
import { isSince, rowStanding } from '../../db/ledger/row-state.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { SentRow } from './compare-company.ts'

type ComparedCompany = {
  company_id: string
  rows: SentRow[]
  /** What the search shows of it; null where it shows nothing. */
  documents: unknown[] | null
}

type FetchedCompany = ComparedCompany & { bytes: number }

export type ComparedSearch = {
  submissionId: number
  /**
   * The name of the search in `pull.searches`, the list on its pages, and the member of its elements that names the
   * company.
   */
  search: string
  list: string
  companyMember: string
}

const mappedBefore = sql<boolean>`not ${isSince(
  sql`mapping.mapped_at`,
  sql`mapping.submission_id`,
  sql`search.planned_at`,
  sql`search.submission_id`,
)}`

/** Companies fetched at first, when nobody knows how much each brings, and at most. */
const firstFetch = 10
const largestFetch = 100

/** What a fetch is to bring in all, in bytes of rows and documents as the database holds them: bounds memory. */
const fetchBytes = 8_000_000

/** The streams whose rows are compared, and those that runs read and send: `rowStanding`. */
export type ComparedStreams = { streams: readonly string[]; carried: readonly string[] }

/**
 * Every mapped company with its rows of some streams, and with what a search showed of it. The search must have ended,
 * and prove what is absent, so what is stored of it is what it showed. They come by the hundred, and fewer at a time if
 * those that came last hold much: companies are in no order of their size.
 */
export async function* comparedCompanies(
  trx: Transaction<Schema>,
  { streams, carried }: ComparedStreams,
  { submissionId, search, list, companyMember }: ComparedSearch,
): AsyncGenerator<ComparedCompany[]> {
  await sql`
    declare compared no scroll cursor for
    -- Grouped together, not joined: of what two groupings yield the planner knows nothing, and would nest them.
    with thing as (
      select mapping.company_id::text as company_id, row.row_id, jsonb_build_object(
               'row_id', row.row_id, 'stream', row.stream, 'partner_id', row.partner_id, 'content', row.content,
               'accepted_at', row.accepted_at,
               'standing', ${rowStanding(carried, mappedBefore)})
               as sent, null as document_id, null::jsonb as document
      from ledger row
      join mapping using (partner_id)
      join submission search on search.submission_id = ${submissionId}
      where row.stream = any(${streams}::text[])
      union all
      select lower(document ->> ${companyMember}::text), null, null, document_id, document
      from document
      where search = ${search} and list = ${list} and removed_at is null
    )
    select *, pg_column_size(rows) + coalesce(pg_column_size(documents), 0) as bytes
    from (
      select company_id, jsonb_agg(sent order by row_id) filter (where sent is not null) as rows,
             jsonb_agg(document order by document_id) filter (where document is not null) as documents
      from thing
      group by company_id
      having count(sent) > 0
    ) company`.execute(trx)
  let asked = firstFetch
  for (;;) {
    const { rows } = await sql<FetchedCompany>`fetch ${sql.lit(asked)} from compared`.execute(trx)
    if (rows.length > 0) yield rows
    if (rows.length < asked) break
    asked = nextFetch(rows)
  }
  await sql`close compared`.execute(trx)
}

/** How many companies to fetch if they hold as much as the last ones did. */
function nextFetch(last: readonly FetchedCompany[]): number {
  const each = last.reduce((sum, { bytes }) => sum + bytes, 0) / last.length
  return Math.max(1, Math.min(largestFetch, Math.floor(fetchBytes / each)))
}
