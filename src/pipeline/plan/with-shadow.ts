import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import { createDatabase, type Database, Turns, withSession } from '../../db/database.ts'
import { schemaName } from '../../db/migrate-to-latest.ts'
import { unfinishedStates } from '../../db/tables/submission-tables.ts'

/** Tables of this one connection, under the names of the real ones; nobody else sees them. */
type Shadow = { pool: pg.Pool; db: Database }

/**
 * Tables that are left empty: what searches brought, the past, and where the planner stands in a run. The way out reads
 * none of them, but for the past of rows, which it reads where it is kept. Of submissions, their rows and payloads only
 * those in flight are copied.
 */
const leftEmpty = [
  'calculator',
  'calculator_value',
  'calculator_value_change',
  'calculator_variable',
  'candidate',
  'candidate_row',
  'company',
  'company_property',
  'complete_search',
  'custom_property',
  'document',
  'ended_submission',
  'history_start',
  'input_comparison',
  'input_difference',
  'kind_sweep',
  'left_behind',
  'mapping_change',
  'name_change',
  'page_listing',
  'quarantine',
  'reference_change',
  'reference_past',
  'removed_property',
  'removed_value',
  'row_change',
  'run_step',
  'search_page',
  'search_seen_calculator',
  'search_seen_company',
  'search_seen_document',
  'staged_outcome',
  'submission_release',
  'unrenewed_part',
]

/** Copies that are not of the whole table. */
const partly: Record<string, RawBuilder<unknown>> = {
  submission: sql`where source.state in (${sql.join(unfinishedStates.map((state) => sql.lit(state)))})`,
  submission_payload: sql`where source.submission_id in (select submission_id from submission)`,
  submission_row: sql`where source.submission_id in (select submission_id from submission)`,
}

/**
 * Runs `work` on temporary copies of our tables, and of the view `ledger`, through which the stages read them.
 * Temporary tables are found before the real ones, so the stages of a run do there what they do in a run; what they
 * write is gone at the end, and no row of the real tables is locked. Every table has its shadow, also those of which
 * nothing is copied, so that no write can reach the real one.
 */
export async function withShadow<T>(pool: pg.Pool, work: (shadow: Shadow) => Promise<T>): Promise<T> {
  return await withSession(pool, async ({ client, db }) => {
    const tables = await tablesOf(db)
    // Read while its tables are still the real ones: their names are not qualified then.
    const ledger = await definitionOf(db, 'ledger')
    for (const name of tables) {
      await sql`
        create temp table ${sql.id(name)} (like ${sql.id(schemaName, name)}
          including defaults including identity including generated including constraints including indexes)`.execute(
        db,
      )
    }
    await sql`create temp view ledger as ${sql.raw(ledger)}`.execute(db)
    await fill(db, tables)
    const result = await work({ pool: poolOf(client), db: createDatabase(poolOf(client)) })
    await sql`discard temp`.execute(db)
    return result
  })
}

async function tablesOf(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = ${schemaName}::regnamespace and relkind in ('r', 'p') and relname not like 'kysely\\_%'
    order by relname`.execute(db)
  return rows.map(({ name }) => name)
}

/** The text of a view of ours, as the catalogue has it. */
async function definitionOf(db: Database, view: string): Promise<string> {
  const { rows } = await sql<{ text: string }>`select pg_get_viewdef(${view}::regclass) as text`.execute(db)
  if (rows[0] === undefined) throw new Error(`there is no view ${view}`)
  return rows[0].text
}

/** Copies what a run reads, as of one moment. */
async function fill(db: Database, tables: readonly string[]): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      for (const name of tables.filter((table) => !leftEmpty.includes(table))) {
        await sql`
          insert into pg_temp.${sql.id(name)} overriding system value
          select source.* from ${sql.id(schemaName, name)} source ${partly[name] ?? sql``}`.execute(trx)
        await sql`analyze pg_temp.${sql.id(name)}`.execute(trx)
      }
      await continueNumbers(trx)
    })
}

/** Numbers given in the shadow come after the real ones, so that a row which is new has none of them. */
async function continueNumbers(db: Database): Promise<void> {
  const { rows } = await sql<{ name: string; column: string }>`
    select relname as name, attname as column
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = ${schemaName}::regnamespace and relkind in ('r', 'p') and attidentity <> ''
      and not attisdropped`.execute(db)
  for (const { name, column } of rows) {
    await sql`
      select setval(pg_get_serial_sequence(${`pg_temp.${name}`}, ${column}),
                    (select coalesce(max(${sql.id(column)}), 0) + 1 from ${sql.id(schemaName, name)}), false)`.execute(
      db,
    )
  }
}

/**
 * The one connection as if it were a pool of its own: anyone who borrows it gets the shadow tables, and cannot end it.
 * Statements that a stage sends side by side take turns.
 */
function poolOf(client: pg.PoolClient): pg.Pool {
  const turns = new Turns()
  const borrowed = new Proxy(client, {
    get: (target, key) => {
      if (key === 'release') return () => {}
      if (key === 'query') {
        return (query: string | pg.QueryConfig | pg.Submittable, values?: unknown[]) =>
          typeof query === 'object' && 'submit' in query
            ? target.query(query)
            : turns.take(() => target.query(query, values))
      }
      const value = Reflect.get(target, key) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { connect: async () => borrowed, end: async () => {} } as unknown as pg.Pool
}
