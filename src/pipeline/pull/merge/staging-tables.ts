import { sql, type Transaction } from 'kysely'
import type pg from 'pg'
import { type CopyValue, copyLine, copyReady } from '../../../db/copy-text.ts'
import type { Turns } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** Where a page lies until its merge, with the columns that COPY fills, in order. */
const stagingColumns = {
  staged_variable_name: ['ordinal', 'id', 'name'],
  staged_property_name: ['ordinal', 'id', 'name'],
  staged_company: [
    'company_ordinal',
    'company_id',
    'name',
    'name_problem',
    'readable',
    'complete',
    'content_hash',
    'content_bytes',
    'calculators',
    'values',
  ],
  staged_property: ['company_ordinal', 'property_id', 'ordinal', 'value'],
  staged_calculator: [
    'calculator_ordinal',
    'company_ordinal',
    'calculator_id',
    'type_id',
    'title',
    'title_problem',
    'period_year',
    'period_month',
    'month_null',
    'readable',
  ],
  staged_reference: ['reference', 'variable_id'],
  staged_value: ['calculator_ordinal', 'reference', 'direction', 'value'],
  staged_unrenewed_value: ['calculator_ordinal', 'direction', 'variable_id', 'reason', 'field'],
  staged_unrenewed_property: ['company_ordinal', 'property_id', 'reason', 'field'],
  staged_left_out: ['unit', 'company_id', 'calculator_id', 'item', 'reason', 'excerpt'],
} as const

type StagingTable = keyof typeof stagingColumns

/**
 * Makes the temporary tables for the names of one page and for what is left out of it, in one round trip; they vanish
 * with the transaction, however it ends. Most pages need no others.
 */
export async function createStaging(trx: Transaction<Schema>): Promise<void> {
  await sql.raw(`${settings};${statementsOf(nameTables)}`).execute(trx)
}

/** Makes the tables for companies, of which a page whose companies are all new or as they were stages none. */
async function createCompanyStaging(client: pg.ClientBase): Promise<void> {
  await client.query(statementsOf(companyTables))
}

function isOfCompanies(table: StagingTable): boolean {
  return table in companyTables
}

/**
 * Nothing analyses temporary tables by itself, and the merge is planned from what is in them. Of values it is their
 * number that matters, which the planner takes from the size of the table.
 */
export async function analyzeStaging(trx: Transaction<Schema>): Promise<void> {
  await sql`
    analyze staged_variable_name, staged_property_name, staged_company, staged_property, staged_calculator,
      staged_reference, staged_unrenewed_value, staged_unrenewed_property, staged_left_out`.execute(trx)
}

/**
 * A merge joins millions of rows; within the default of 4 MB each join goes through the disk several times. A page
 * concerns a small part of large tables: their rows are looked up by key, not read from end to end.
 */
const settings = `
  set local work_mem = '64MB';
  set local random_page_cost = 1.1`

const nameTables = {
  // What the page lists; a name is null where it cannot be read.
  staged_variable_name: 'ordinal integer not null, id text not null, name text',
  staged_property_name: 'ordinal integer not null, id text not null, name text',
  staged_left_out: `
    seq bigint generated always as identity, unit text not null, company_id uuid, calculator_id uuid,
    item text, reason text not null, excerpt text not null`,
}

const companyTables = {
  // The merge finds the keys, what the search has shown before this page (seen), in a form that can be read (given),
  // and what it has shown with it (seen_…).
  staged_company: `
    company_ordinal integer primary key, company_id uuid not null, name text, name_problem text,
    readable boolean not null, complete boolean not null, content_hash uuid, content_bytes integer,
    calculators integer not null, values integer not null, company_key integer,
    on_many_pages boolean not null default false, seen boolean not null default false,
    given boolean not null default false, seen_pages integer, seen_given boolean`,
  staged_property: `
    company_ordinal integer not null, property_id text not null, ordinal integer not null, value text not null`,
  staged_calculator: `
    calculator_ordinal integer primary key, company_ordinal integer not null, calculator_id uuid not null,
    type_id uuid, title text, title_problem text, period_year integer, period_month smallint, month_null text,
    readable boolean not null, calculator_key integer, owner_key integer, removed boolean,
    given boolean not null default false`,
  staged_reference: 'reference integer not null, variable_id text not null, variable_key integer',
  staged_value: `
    calculator_ordinal integer not null, reference integer not null, direction "char" not null, value text not null`,
  // What the page does not show as absent although it gives nothing for it; null in place of an id: whatever it may be.
  staged_unrenewed_value: `
    calculator_ordinal integer not null, direction "char" not null, variable_id text, reason text not null, field text`,
  staged_unrenewed_property: 'company_ordinal integer not null, property_id text, reason text not null, field text',
  // Lists of property values that another page of the search gave longer: what they lose is kept already.
  shortened_list: 'company_key integer not null, property_key integer not null',
  // What the merge made (fresh) and what it found different (touched): the ground on which changed_at moves.
  fresh_company: 'company_key integer primary key',
  fresh_calculator: 'calculator_key integer primary key',
  touched_company: 'company_key integer not null',
  touched_calculator: 'calculator_key integer not null',
}

function statementsOf(tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables)
    .map(([name, columns]) => `create temporary table ${name} (${columns}) on commit drop`)
    .join(';')
}

export type StagingWriter = {
  add(table: StagingTable, row: readonly CopyValue[]): void
  /** Whether a company was added; if none was, there are no tables for them. */
  holdsCompanies(): boolean
  /**
   * Begins to copy what has been added, if it is enough to be worth a round trip, once the copy before is done. Await
   * it between elements: memory depends on it.
   */
  drain(): Promise<void>
  /** Copies all that has been added. */
  flush(): Promise<void>
}

/** Characters gathered for a COPY, some 15,000 values. While one batch is copied the next is made. */
const batchCharacters = 512 * 1024

/**
 * Fills the staging tables through COPY. A connection runs one COPY at a time and a page mixes its tables, so rows
 * gather per table and go out in batches.
 * @param turns of all that use the connection at the same time.
 */
export function createStagingWriter(client: pg.ClientBase, turns: Turns): StagingWriter {
  let pending = new Map<StagingTable, string[]>()
  let characters = 0
  let copying: Promise<void> = Promise.resolve()
  let companies: 'none' | 'added' | 'created' = 'none'

  async function copyNext(): Promise<void> {
    await copying
    const batch = pending
    pending = new Map()
    characters = 0
    copying = turns.take(() => copyAll(batch))
    // Anyone who drains or flushes next is told.
    copying.catch(() => {})
  }

  async function copyAll(batch: ReadonlyMap<StagingTable, readonly string[]>): Promise<void> {
    if (companies === 'added') {
      companies = 'created'
      await createCompanyStaging(client)
    }
    const copies = [...batch].map(([table, lines]) => ({
      into: `pg_temp.${table} (${stagingColumns[table].join(', ')})`,
      rows: [Buffer.from(lines.join(''))],
    }))
    await copyReady(client, copies)
  }

  return {
    holdsCompanies: () => companies !== 'none',
    add(table, row) {
      if (companies === 'none' && isOfCompanies(table)) companies = 'added'
      const line = copyLine(row)
      characters += line.length
      const lines = pending.get(table)
      if (lines === undefined) pending.set(table, [line])
      else lines.push(line)
    },
    drain: async () => {
      if (characters >= batchCharacters) await copyNext()
    },
    flush: async () => {
      await copyNext()
      await copying
    },
  }
}
