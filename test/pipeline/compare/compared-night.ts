import { sql } from 'kysely'
import { streamNames } from '../../../src/config/known-names.ts'
import { settings } from '../../../src/config/schema.ts'
import type { RowComparison } from '../../../src/db/tables/difference-tables.ts'
import { compareDocuments } from '../../../src/pipeline/compare/compare-documents.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { uuid } from '../pull/sample-page.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'

/** What a search shows: the elements of its lists. */
type Shown = {
  search: 'frameworkAnswersSearch' | 'companiesSearch'
  body?: Record<string, unknown>
  /** How many minutes before the comparison it was planned; by default none. */
  minutesAgo?: number | undefined
  /** The streams that the configuration reads. */
  reads?: readonly string[]
  lists: Record<string, readonly ({ id: string } & Record<string, unknown>)[]>
}

type AcceptedRow = { stream: string; hotel: string; key?: string; content: Record<string, unknown> }

/** Hotels that are companies, rows of theirs that the service took, and runs whose search shows something of them. */
export type ComparedNight = AsyncDisposable & {
  ferry: Ferry
  clear(): Promise<void>
  /** The hotel is this company. */
  mapped(hotel: string, company: string): Promise<void>
  /** A row that the service has accepted; returns its number. */
  accepted(row: AcceptedRow): Promise<number>
  /** Compares what was accepted with what a new search shows; returns the counts by kind. */
  compared(shown: Shown): Promise<Map<string, RowComparison>>
  /** What differs, a line for each. */
  found(): Promise<string[]>
}

/** What a search asked for and came to, as JSON. */
type Searched = { asked: string; result: string; minutesAgo: number | undefined }

export async function openComparedNight(): Promise<ComparedNight> {
  const ferry = await openFerry()
  const { ledger } = ferry
  const { db } = ledger
  const submission = async (kind: string, { asked, result, minutesAgo = 0 }: Partial<Searched> = {}) => {
    const { rows } = await sql<{ submission_id: number }>`
      insert into submission (run_id, kind, partition, state, row_count, asked, search_result, planned_at, attempted_at)
      select run_id, ${kind}, 'ours', 'settled', 0, ${asked}::jsonb, ${result}::jsonb, planned_at, planned_at
      from (
        select max(run_id) as run_id, clock_timestamp() - ${minutesAgo} * interval '1 minute' as planned_at
        from run) last
      returning submission_id`.execute(db)
    return rows[0]?.submission_id
  }
  return {
    ferry,
    clear: async () => {
      await ferry.clear()
      await emptyTables(db, ['document', 'row_difference', 'row_comparison'])
      await ledger.startRun()
    },
    mapped: async (hotel, company) => {
      await sql`
        insert into mapping (partner_id, company_id, submission_id)
        values (${hotel}, ${uuid(company)}, ${await submission('company_mappings')})`.execute(db)
    },
    accepted: async ({ stream, hotel, key = hotel, content }) => {
      await ledger.landChecked(stream, [{ partner_id: hotel, row_key: key, content }], true)
      const { rows } = await sql<{ row_id: number }>`
        update acceptance
        set accepted_at = clock_timestamp(), outcome = 'confirmed', outcome_submission = ${await submission(stream)}
        where row_id = (select row_id from source_row where stream = ${stream} and row_key = ${key})
        returning row_id`.execute(db)
      return rows[0]?.row_id ?? 0
    },
    compared: async ({ search, body = {}, minutesAgo, reads = streamNames, lists }) => {
      await ledger.startRun()
      const run = await db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
      const kind = search === 'companiesSearch' ? 'companies_search' : 'framework_answers_search'
      const result = { documents: 0, withheld: false, reason: null }
      await submission(kind, { asked: JSON.stringify(body), result: JSON.stringify(result), minutesAgo })
      await emptyTables(db, ['document'])
      await sql`
        insert into document (search, list, document_id, content_hash, document)
        select 'ours', key, element ->> 'id', '\\x00', element
        from jsonb_each(${JSON.stringify(lists)}::jsonb), jsonb_array_elements(value) element`.execute(db)
      await using deps = ferry.deps('http://127.0.0.1:9')
      const stream = { query: 'select', cursor: 'x' }
      const config = settings.parse({
        streams: Object.fromEntries(reads.map((name) => [name, stream])),
        pull: { searches: [{ name: 'ours', search, body }] },
      })
      await compareDocuments({ ...deps, config }, run)
      const counted = await db.selectFrom('row_comparison').selectAll().where('run_id', '=', run.run_id).execute()
      return new Map(counted.map((comparison) => [comparison.kind, comparison]))
    },
    found: async () => {
      const { rows } = await sql<{ line: string }>`
        select concat_ws(' ', kind, partner_id, sent, coalesce(stored, '-')) as line
        from differences order by 1`.execute(db)
      return rows.map(({ line }) => line)
    },
    [Symbol.asyncDispose]: () => ferry.close(),
  }
}
