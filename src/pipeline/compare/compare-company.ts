import { sql, type Transaction } from 'kysely'
import { isSince, type RowStanding, rowStanding } from '../../db/ledger/row-standing.ts'
import { nextFetch } from '../../db/next-fetch.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { FoundDifference } from './findings.ts'

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
    asked = nextFetch(rows, fetchBytes, largestFetch)
  }
  await sql`close compared`.execute(trx)
}

type CompanyOnPage = {
  companyId: string
  rows: readonly SentRow[]
  /** Null: no page holds the company. */
  stored: StoredThings | null
}

export type Judge = {
  /** What a row should have left; null where that cannot be told, or its search does not show such things. */
  expected: (row: SentRow) => Expected | null
  /** Whether two values that are written differently may be the same, so that nothing can be said. */
  incomparable: (expected: Value, stored: Value) => boolean
}

/**
 * Compares the rows of one company with what a page shows of it. Pure.
 *
 * Rows may write the same thing: two hotels that are one company, or one answer under two frameworks. It is right if it
 * is right for one of them. While one of them is unsettled nothing is said; one that is silent does not count. Of
 * several that are wrong only the one that was accepted last is named, because it wrote last.
 *
 * @returns also the rows, `unjudged`, of whose things nothing is said: what was found of them before stays.
 */
export function compareCompany(
  { companyId, rows, stored }: CompanyOnPage,
  { expected, incomparable }: Judge,
): { counts: Counts; findings: FoundDifference[]; unjudged: number[] } {
  const counts: Counts = { rows: 0, equal: 0, absent: 0, different: 0, unjudged: 0, unsettled: 0 }
  const findings: FoundDifference[] = []
  const unjudged: number[] = []
  const writers = rows.map((row) => ({ row, wanted: expected(row) }))
  const byThing = Map.groupBy(writers, ({ wanted, row }) => wanted?.thing ?? `row ${row.row_id}`)
  for (const [thing, group] of byThing) {
    const there = stored?.get(thing)
    const settled = group.filter(({ row }) => row.standing === 'settled')
    counts.unsettled += group.length - settled.length
    counts.rows += settled.length
    if (settled.length === 0) continue
    const right = settled.filter(
      ({ wanted }) => wanted !== null && there?.values.some((value) => isSame(value, wanted.value)),
    )
    if (right.length > 0) {
      counts.equal += settled.length
      continue
    }
    const last = settled.toSorted((a, b) => (b.row.accepted_at ?? '').localeCompare(a.row.accepted_at ?? ''))[0]
    const open = group.some(({ row }) => row.standing === 'unsettled')
    const unsure = last?.wanted == null || open || mayBeEqual(last.wanted, there?.values)
    counts.unjudged += unsure ? settled.length : settled.length - 1
    if (unsure || last?.wanted == null) {
      unjudged.push(...settled.map(({ row }) => row.row_id))
      continue
    }
    const absent = there === undefined || there.values.length === 0
    counts[absent ? 'absent' : 'different'] += 1
    findings.push({
      row_id: last.row.row_id,
      kind: absent ? 'absent' : 'different',
      company_id: companyId,
      sent: last.wanted.shown,
      stored: absent ? null : there.values.map(valueWords).join(' / '),
      cause: absent ? (stored === null ? 'company_not_returned' : 'value_not_returned') : null,
      changed_there_at: there?.changedAt?.toISOString() ?? null,
    })
  }
  return { counts, findings, unjudged }

  function mayBeEqual(wanted: Expected, values: readonly Value[] = []): boolean {
    return values.some((value) => incomparable(wanted.value, value))
  }
}

/** A value as it is compared, and the id of the unit that it is in; null where none is named, or where none can be. */
export type Value = { value: string; unit: string | null }

function isSame(one: Value, other: Value): boolean {
  return one.value === other.value && one.unit === other.unit
}

function valueWords({ value, unit }: Value): string {
  return unit === null ? value : `${value} unit ${unit}`
}

/** What a page shows of one thing that rows write: its values, and when the service says that it was changed. */
export type Stored = { values: readonly Value[]; changedAt: Date | null }

/** Everything that a page shows of one company, by the name of the thing. */
export type StoredThings = ReadonlyMap<string, Stored>

/** What a row should have left at the service: the name of the thing, and its value as `Stored` writes it. */
export type Expected = {
  thing: string
  value: Value
  /** What a person reads of it. */
  shown: string
}

/** A row, as it is held against a page. */
export type SentRow = {
  row_id: number
  stream: string
  partner_id: string
  content: Record<string, unknown>
  standing: RowStanding
  accepted_at: string | null
}

export type Counts = {
  rows: number
  equal: number
  absent: number
  different: number
  unjudged: number
  /** Rows that are not settled: unsettled and silent ones. */
  unsettled: number
}
