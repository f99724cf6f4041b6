import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'

/** What searches bring, and what is noted of it. */
export const pulledTables: readonly string[] = [
  'company',
  'custom_property',
  'company_property',
  'calculator_variable',
  'calculator',
  'calculator_value',
  'search_seen_company',
  'search_seen_calculator',
  'quarantine',
  'unrenewed_part',
  'removed_value',
  'removed_property',
]

/**
 * Takes all rows out of tables, and out of those that refer to them. As TRUNCATE does it, but that this makes new files
 * for each table and each of its indexes: of a few rows, it took longer than the test.
 * @param restart whether numbers begin again. Not where something else still knows the old ones, as the queue does.
 */
export async function emptyTables(db: Database, tables: readonly string[], restart = false): Promise<void> {
  const named = sql.lit(tables.join(','))
  await sql`
    do $$
    declare emptied regclass; sequence text;
    begin
      -- Neither foreign keys nor what keeps the past of rows.
      set local session_replication_role = replica;
      for emptied in
        with recursive named as (
          select unnest(string_to_array(${named}, ','))::regclass::oid as id
          union
          select conrelid from pg_constraint join named on confrelid = id where contype = 'f'
        )
        select id from named
      loop
        execute format('delete from %s', emptied);
        for sequence in
          select pg_get_serial_sequence(emptied::text, attname) from pg_attribute
          where attrelid = emptied and attidentity <> '' and ${sql.lit(restart)}
        loop
          perform setval(sequence, 1, false);
        end loop;
      end loop;
    end
    $$`.execute(db)
}
