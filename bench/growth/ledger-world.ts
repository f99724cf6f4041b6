import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import type { ComparedSearch } from '../../src/pipeline/compare/compare-company.ts'

/**
 * What the planner knows of the tables: nothing; what they were when they were empty; what they were when the rows had
 * landed and none was sent, or when the first requests were settled, as autovacuum leaves it in the middle of a first
 * night; what they are; or what all but one are: autovacuum was at work on that one when we told the planner.
 */
export const knowledge = ['none', 'empty', 'landed', 'midway', 'good', 'without calculator_value'] as const
export type Knowledge = (typeof knowledge)[number]

/** Whether the planner is told again before each stage. */
export function isToldAlways(knows: Knowledge): boolean {
  return knows === 'good' || knows.startsWith('without ')
}

/**
 * What the tests of growth know of the tables. When tables change, this file changes, and no other of them: all else
 * goes through the functions that the program itself calls.
 */
export type LedgerWorld = {
  storeFramework(document: { id: string }): Promise<void>
  /** Rows of another stream that nobody sends: a ledger holds far more than is on its way. */
  addRest(rows: number): Promise<void>
  startRun(): Promise<number>
  /** A stream that the run has read. */
  noteStream(runId: number, stream: string): Promise<void>
  /** The service has taken a submission. */
  accept(submissionId: number): Promise<void>
  /** A submission has ended; the planner has not looked at it yet. */
  end(submissionId: number): Promise<void>
  /** The result file of a submission that names every property, and refuses one in a hundred. */
  stageOutcomes(submissionId: number, withCompanies: boolean): Promise<void>
  /**
   * What the service returned of the accepted inputs, all but a few as they were sent, with the years that it sums of
   * months; returns the search's submission.
   */
  storeReturned(runId: number): Promise<number>
  /** What a search of answers showed: those of each company in one document. */
  storeShown(search: ComparedSearch): Promise<void>
  /** The ledger has nothing of some streams any more. */
  forgetStreams(streams: readonly string[]): Promise<void>
  /** Makes the planner know the tables as they are, but for the one that `knows` names. */
  analyze(knows?: Knowledge): Promise<void>
}

/** Turns autovacuum off, so that nobody else changes what the planner knows. */
export async function openLedgerWorld(pool: pg.Pool): Promise<LedgerWorld> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r'`,
    [schemaName],
  )
  for (const { name } of tables) await pool.query(`alter table ${name} set (autovacuum_enabled = off)`)
  return {
    storeFramework: async (document) => {
      await pool.query(
        `insert into reference_data (kind, id, document, fetched_at, changed_at)
         values ('framework', $1, $2, clock_timestamp(), clock_timestamp())`,
        [document.id, JSON.stringify(document)],
      )
    },
    addRest: async (rows) => {
      await pool.query(
        `with rest as (
           insert into source_row (stream, partner_id, row_key, content, desired_hash)
           select 'standard_holders', 'R-' || n, 'R-' || n, '{}', substring(sha256(n::text::bytea) for 16)
           from generate_series(1, $1::integer) n
           returning row_id, partner_id, desired_hash
         )
         insert into acceptance (row_id, partner_id, wanted_hash, checked_hash, accepted_hash)
         select row_id, partner_id, desired_hash, desired_hash, desired_hash from rest`,
        [rows],
      )
    },
    startRun: async () => {
      await pool.query(`update run set state = 'finished' where state = 'running'`)
      const { rows } = await pool.query<{ run_id: number }>(
        `insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', clock_timestamp(), 'running', 'push')
         returning run_id`,
      )
      return rows[0]?.run_id ?? 0
    },
    noteStream: async (runId, stream) => {
      await pool.query(
        `insert into run_stream (run_id, stream, read, folded, unchanged, changed, null_cursor) values ($1, $2, 0, 0, 0, 0, 0)`,
        [runId, stream],
      )
    },
    accept: async (submissionId) => {
      await pool.query(
        `update submission set state = 'accepted', correlation_id = $2, accepted_at = clock_timestamp() where submission_id = $1`,
        [submissionId, randomUUID()],
      )
    },
    end: async (submissionId) => {
      await pool.query(
        `update submission set state = 'settled', settled_at = clock_timestamp() where submission_id = $1`,
        [submissionId],
      )
    },
    stageOutcomes: async (submissionId, withCompanies) => {
      await pool.query(
        `insert into staged_outcome (submission_id, partner_id, accepted, company_id, code, reason)
         select $1, partner_id, accepted, case when accepted and $2 then md5(partner_id)::uuid::text end,
                case when not accepted then 'NotFound' end, case when not accepted then 'No company there' end
         from (
           select partner_id, row_number() over (order by partner_id) % 100 <> 0 as accepted
           from (select distinct partner_id from submission_row join source_row using (row_id) where submission_id = $1) sent
         ) told`,
        [submissionId, withCompanies],
      )
    },
    storeReturned: async (runId) => {
      await pool.query(`insert into calculator_variable (variable_id, name)
        select distinct lower(key), key from source_row, jsonb_object_keys(content -> 'inputs') key where stream = 'calculator_inputs'`)
      await pool.query(`insert into company (company_id, name) select company_id, partner_id from mapping`)
      await pool.query(`
        insert into calculator (calculator_id, company_key, type_id, title, period_year, period_month)
        select md5(row_key)::uuid, company_key, md5('type')::uuid, 'Calculator', (content ->> 'year')::integer, (content ->> 'month')::integer
        from source_row join mapping using (partner_id) join company using (company_id) where stream = 'calculator_inputs'`)
      // One value in fifty is another than was sent, and one in fifty is missing.
      await pool.query(`
        insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
        select company_key, calculator_key, variable_key, 'i', case when calculator_key % 50 = 1 then value || '1' else value end
        from source_row cross join jsonb_each_text(content -> 'inputs')
        join calculator on calculator_id = md5(row_key)::uuid join calculator_variable on variable_id = lower(key)
        where stream = 'calculator_inputs' and calculator_key % 50 <> 2`)
      await pool.query(`
        insert into calculator (calculator_id, company_key, type_id, title, period_year)
        select md5('year' || company_key)::uuid, company_key, md5('type')::uuid, 'Calculator', 2025 from company`)
      await pool.query(`
        insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
        select company_key, year.calculator_key, variable_key, 'i', sum(value::numeric)::text
        from calculator_value
        join calculator month using (company_key, calculator_key)
        join calculator year using (company_key)
        where month.period_month is not null and year.period_month is null
        group by company_key, year.calculator_key, variable_key`)
      const { rows } = await pool.query<{ submission_id: number }>(
        `insert into submission (run_id, kind, state, row_count, planned_at)
         values ($1, 'calculators_search', 'settled', 0, clock_timestamp()) returning submission_id`,
        [runId],
      )
      return rows[0]?.submission_id ?? 0
    },
    storeShown: async ({ search, list, companyMember }) => {
      await pool.query(
        `insert into document (search, list, document_id, content_hash, document)
         select $1, $2, company_id, sha256(company_id::text::bytea), jsonb_build_object($3::text, company_id, 'answers', answers)
         from (
           select company_id::text, jsonb_agg(content) as answers
           from mapping join source_row using (partner_id)
           where stream = 'framework_answers'
           group by company_id
         ) shown`,
        [search, list, companyMember],
      )
    },
    forgetStreams: async (streams) => {
      for (const table of ['acceptance', 'submission_row']) {
        await pool.query(
          `delete from ${table} where row_id in (select row_id from source_row where stream = any($1))`,
          [streams],
        )
      }
      await pool.query('delete from source_row where stream = any($1)', [streams])
    },
    analyze: async (knows) => {
      await pool.query(`analyze ${tables.map(({ name }) => name).join(', ')}`)
      const [, unknown] = knows?.split('without ') ?? []
      // How many rows it has is what a vacuum says, too.
      if (unknown !== undefined) {
        await pool.query('delete from pg_statistic where starelid = $1::regclass', [unknown])
      }
    },
  }
}
