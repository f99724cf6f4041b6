import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

/** One row as it is compared with what came back. */
type ComparedRow = {
  row_id: number
  stream: string
  partner_id: string
  content: Record<string, unknown>
  /** Accepted as it stands before the search was planned, not gone, and in no request. */
  settled: boolean
  accepted_at: string | null
}

type ComparedCompany = {
  company_id: string
  rows: ComparedRow[]
  /** What the search shows of it; null where it shows nothing. */
  documents: unknown[] | null
}

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

/** Companies fetched at a time: bounds memory. */
const fetchCompanies = 100

/**
 * Every mapped company with its rows of some streams, and with what a search showed of it. The search must have ended,
 * and prove what is absent, so what is stored of it is what it showed.
 */
export async function* comparedCompanies(
  trx: Transaction<Schema>,
  streams: readonly string[],
  { submissionId, search, list, companyMember }: ComparedSearch,
): AsyncGenerator<ComparedCompany[]> {
  await sql`
    declare compared no scroll cursor for
    -- Grouped together, not joined: of what two groupings yield the planner knows nothing, and would nest them.
    with thing as (
      select mapping.company_id::text as company_id, row.row_id, jsonb_build_object(
               'row_id', row.row_id, 'stream', row.stream, 'partner_id', row.partner_id, 'content', row.content,
               'accepted_at', row.accepted_at,
               'settled', not row.pending and row.gone_at is null and row.held_by is null
                 -- What was accepted after the search was planned need not be on its pages.
                 and coalesce(row.accepted_at <= searched.planned_at
                   and mapping.mapped_at <= searched.planned_at, false))
               as sent, null as document_id, null::jsonb as document
      from ledger row
      join mapping using (partner_id)
      join submission searched on searched.submission_id = ${submissionId}
      where row.stream = any(${streams}::text[])
      union all
      select lower(document ->> ${companyMember}::text), null, null, document_id, document
      from document
      where search = ${search} and list = ${list} and removed_at is null
    )
    select company_id, jsonb_agg(sent order by row_id) filter (where sent is not null) as rows,
           jsonb_agg(document order by document_id) filter (where document is not null) as documents
    from thing
    group by company_id
    having count(sent) > 0`.execute(trx)
  for (;;) {
    const { rows } = await sql<ComparedCompany>`fetch ${sql.lit(fetchCompanies)} from compared`.execute(trx)
    if (rows.length === 0) break
    yield rows
  }
  await sql`close compared`.execute(trx)
}

/** The members that documents of a search have, most common first: what a person compares with the contract. */
export async function membersShown(trx: Transaction<Schema>, search: string, list: string): Promise<string[]> {
  const { rows } = await sql<{ member: string }>`
    select member from (select document from document where search = ${search} and list = ${list} limit 100) sample,
      jsonb_object_keys(case jsonb_typeof(document) when 'object' then document else '{}' end) member
    group by member order by count(*) desc, member limit 20`.execute(trx)
  return rows.map(({ member }) => member)
}
