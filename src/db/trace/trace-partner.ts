import { type RawBuilder, sql } from 'kysely'
import { isAboutHotel } from '../actions/list-actions.ts'
import { type Database, type Listed, listed } from '../database.ts'
import { differencesOf, rowDifferencesOf } from '../differences/list-differences.ts'
import type { Requires } from '../ledger/requirements.ts'
import type { ResendPolicy } from '../ledger/rows-to-retry.ts'
import { type HotelSuspension, suspensionOf } from '../ledger/suspended-hotels.ts'
import type { DifferencesView, InputDifference } from '../tables/difference-tables.ts'
import type { ActionVerb } from '../tables/run-tables.ts'
import { type TracedRow, type TracedSubmission, traceRows, traceSubmissions } from './trace-rows.ts'

/** Everything that is known of one hotel. */
export type PartnerTrace = {
  partner_id: string
  streams: TracedStream[]
  company: TracedCompany | null
  /** Since when and why nothing of it is sent; null: it is not suspended. */
  suspended: HotelSuspension | null
  rows: TracedRow[]
  submissions: TracedSubmission[]
  /** What came back of its inputs otherwise than it was sent, as the last comparison found it. */
  differences: InputDifference[]
  /** What is at the service of its other rows otherwise than it was sent, or not at all. */
  row_differences: DifferencesView[]
  actions: TracedAction[]
  /** How many more there are of each list than it holds. */
  more: { rows: number; submissions: number; differences: number; row_differences: number; actions: number }
}

/**
 * Follows one hotel from the partner's database to the calculators that came back, as of one moment. Null: unknown.
 * @param limit of each list; null: all. Of rows those come first that are not accepted, of the others the newest.
 */
export async function tracePartner(
  db: Database,
  partnerId: string,
  requires: Requires,
  policies: readonly ResendPolicy[],
  limit: number | null = null,
): Promise<PartnerTrace | null> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const streams = await traceStreams(trx, partnerId)
      if (streams.length === 0) return null
      const rows = await traceRows(trx, partnerId, requires, policies, limit)
      const submissions = await traceSubmissions(trx, partnerId, limit)
      const differences = await differencesOf(trx, partnerId, limit)
      const others = await rowDifferencesOf(trx, partnerId, limit)
      const actions = await traceActions(trx, partnerId, limit)
      return {
        partner_id: partnerId,
        streams,
        company: await traceCompany(trx, partnerId),
        suspended: await suspensionOf(trx, partnerId),
        rows,
        submissions: submissions.rows,
        differences: differences.rows,
        row_differences: others.rows,
        actions: actions.rows,
        more: {
          rows: streams.reduce((sum, one) => sum + one.rows + one.gone, 0) - rows.length,
          submissions: submissions.more,
          differences: differences.more,
          row_differences: others.more,
          actions: actions.more,
        },
      }
    })
}

type TracedStream = {
  stream: string
  /** Those that are there. */
  rows: number
  accepted: number
  /** Those that the partner has no longer. */
  gone: number
  first_seen_at: Date
  /** When a run last read something new of it. */
  changed_at: Date
  /** The last reading of the stream, whatever it brought. */
  read_at: Date | null
  read_by_run: number | null
}

/** What the partner's database has delivered of one hotel, stream by stream, and when it was last asked. */
async function traceStreams(db: Database, partnerId: string): Promise<TracedStream[]> {
  const { rows } = await sql<TracedStream>`
    select had.*, last.extracted_at as read_at, last.run_id as read_by_run
    from (
      select stream, count(*) filter (where gone_at is null) as rows,
             count(*) filter (where gone_at is null and not pending) as accepted,
             count(gone_at) as gone,
             min(first_seen_at) as first_seen_at, max(changed_at) as changed_at
      from ledger
      where partner_id = ${partnerId}
      group by stream
    ) had
    left join lateral (
      select run_id, extracted_at from run_stream
      where run_stream.stream = had.stream
      order by run_id desc
      limit 1
    ) last on true
    order by had.stream <> 'properties', had.stream`.execute(db)
  return rows
}

export type TracedCompany = {
  company_id: string
  mapped_at: Date
  mapped_by_submission: number
  /** As the last search gave it; null while no page has had the company. */
  name: string | null
  changed_at: Date | null
  removed_at: Date | null
  calculators: number
  removed_calculators: number
  newest_calculator_change: Date | null
  /** Since when searches do not renew the company as a whole, and a stable code of why; what came back of it stands. */
  not_renewed_since: Date | null
  not_renewed_reason: string | null
  /** Of the calculators, those that by themselves are not renewed, and since when the first of them. */
  unrenewed_calculators: number
  calculators_not_renewed_since: Date | null
  /** When the last search ended of which every page was loaded. */
  searched_at: Date | null
  /** The other hotels that are mapped to it and that the partner has. */
  other_hotels: string[]
}

/** Which company a hotel is at the service, and what searches brought back of it; null while it is not mapped. */
export async function traceCompany(db: Database, partnerId: string): Promise<TracedCompany | null> {
  const { rows } = await sql<TracedCompany>`
    select mapping.company_id, mapped_at, mapping.submission_id as mapped_by_submission, companies.name,
           companies.changed_at, companies.removed_at,
           (select count(*) from calculators where calculators.company_id = mapping.company_id and removed_at is null)
             as calculators,
           (select count(*) from calculators where calculators.company_id = mapping.company_id
             and removed_at is not null)
             as removed_calculators,
           (select max(changed_at) from calculators where calculators.company_id = mapping.company_id)
             as newest_calculator_change,
           unrenewed.since as not_renewed_since, unrenewed.reason as not_renewed_reason,
           (select count(*) from not_renewed join calculators using (calculator_id)
             where part = 'calculator' and not_renewed.company_id = mapping.company_id and removed_at is null)
             as unrenewed_calculators,
           (select min(since) from not_renewed join calculators using (calculator_id)
             where part = 'calculator' and not_renewed.company_id = mapping.company_id and removed_at is null)
             as calculators_not_renewed_since,
           (select ended.loaded_at
            from submission join run using (run_id)
            cross join lateral (
              select max(loaded_at) as loaded_at, bool_and(state = 'loaded') as whole
              from search_page where search_page.submission_id = submission.submission_id
            ) ended
            where kind = 'calculators_search' and submission.state <> 'abandoned'
              and run.destination_id = destination_in_use() and ended.whole
            order by submission_id desc limit 1) as searched_at,
           array(select other.partner_id from mapping other
                 where other.company_id = mapping.company_id and other.partner_id <> mapping.partner_id
                   and exists (select from source_row
                               where stream = 'properties' and source_row.partner_id = other.partner_id
                                 and gone_at is null)
                 order by other.partner_id collate "C") as other_hotels
    from mapping
    left join companies on companies.company_id = mapping.company_id
    -- The view of companies shows the mark of a name alike.
    left join not_renewed unrenewed on unrenewed.company_id = mapping.company_id and unrenewed.part = 'company'
    where mapping.partner_id = ${partnerId}`.execute(db)
  return rows[0] ?? null
}

/** The hotels that are mapped to a company, by the partner's ids. @param limit null: all. */
export async function hotelsOf(db: Database, companyId: string, limit: number | null = null): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    select partner_id from mapping where company_id = ${companyId}::uuid order by partner_id collate "C"
    limit ${limit}`.execute(db)
  return rows.map(({ partner_id }) => partner_id)
}

type TracedAction = {
  verb: ActionVerb
  acted_by: string
  acted_at: Date
  submission_id: number | null
  correlation_id: string | null
  asked: Record<string, string>
  result: string | null
}

/** What people did about a hotel's submissions, or about the hotel by name, oldest first. @param limit null: all. */
async function traceActions(db: Database, partnerId: string, limit: number | null): Promise<Listed<TracedAction>> {
  const { rows } = await sql<TracedAction & { found: number }>`
    select verb, acted_by, acted_at, submission_id, correlation_id, asked, result, count(*) over () as found
    from action
    where ${isAboutHotel(partnerId)}
    order by action_id desc
    limit ${limit}`.execute(db)
  return listed(rows.toReversed())
}

/** Whether anything was ever read of a hotel. */
export async function isKnownHotel(db: Database, partnerId: string): Promise<boolean> {
  const { rows } = await sql`select from source_row where partner_id = ${partnerId} limit 1`.execute(db)
  return rows.length > 0
}

/**
 * Tells a person that nothing was read of a hotel, with the ids that may have been meant.
 * @param meant those ids, where the caller knows better than by their spelling.
 */
export async function unknownHotelWords(
  db: Database,
  partnerId: string,
  meant: readonly string[] = [],
): Promise<string> {
  const { near, examples } = await likePartnerIds(db, partnerId)
  const likely = meant.length > 0 ? meant : near
  const head = `Nothing was ever read of a hotel '${partnerId}'.`
  if (likely.length > 0) return `${head} Was ${likely.join(' or ')} meant?`
  if (examples.length === 0) return `${head} No run has read any hotel yet.`
  return `${head} Ids are those of the partner's database, such as ${examples.join(', ')}`
}

/**
 * Ids that somebody may have meant by one that is not there, in quotes where blanks are a part of them, and, if none
 * is near it, some that are. An id that differs in blanks around it, or in how its letters are composed, is only
 * looked for where none differs in capitals alone: that takes every id apart.
 */
export async function likePartnerIds(db: Database, text: string): Promise<{ near: string[]; examples: string[] }> {
  const { rows: alike } = await sql<{ partner_id: string }>`
    select distinct partner_id from source_row where lower(partner_id) = lower(${text.trim()})
    order by 1 limit 5`.execute(db)
  const near = alike.length > 0 ? alike : await spelledAlike(db, text)
  const { rows: examples } = await sql<{ partner_id: string }>`
    select distinct partner_id from (select partner_id from source_row order by row_id limit 100) first_read
    order by 1 limit 3`.execute(db)
  return {
    near: near.map(({ partner_id }) => (/\s/.test(partner_id) ? `'${partner_id}'` : partner_id)),
    examples: examples.map(({ partner_id }) => partner_id),
  }
}

async function spelledAlike(db: Database, text: string): Promise<{ partner_id: string }[]> {
  const plain = (id: RawBuilder<string>) => sql<string>`lower(btrim(normalize(${id}, NFC), e' \\t\\n\\r'))`
  const { rows } = await sql<{ partner_id: string }>`
    select partner_id from (select distinct partner_id from source_row) hotel
    where ${plain(sql`partner_id`)} = ${plain(sql`${text.trim()}::text`)}
    order by 1 limit 5`.execute(db)
  return rows
}
