import { createHash } from 'node:crypto'
import type pg from 'pg'

/**
 * The business columns of every table that a run leaves behind, in key order; times and surrogate keys are left out.
 */
const contents: Record<string, string> = {
  companies: 'select company_id, name, partner_id, removed_at is null as here from companies order by 1',
  company_properties: `select company_id, property_id, property_name, ordinal, value
                       from company_properties order by company_id, property_id, ordinal`,
  calculators: `select calculator_id, company_id, type_id, title, period_year, period_month, removed_at is null as here
                from calculators order by 1`,
  calculator_variables: 'select variable_id, name from calculator_variables order by 1',
  calculator_values: `select calculator_id, company_id, period_year, period_month, direction, variable_id, variable_name,
                             value, value_numeric
                      from calculator_values order by calculator_id, direction, variable_id`,
  // When the service changed something is another moment in every night.
  documents: `select search, list, document_id, removed_at is null as here,
                     regexp_replace(document::text, '"changedAt": "[^"]*"', '"changedAt": ""', 'g') as document
              from documents order by search, list, document_id`,
  mapping: 'select partner_id, company_id from mapping order by 1',
  ledger: `select stream, row_key, partner_id, content, desired_hash, accepted_hash, refused_hash, invalid_reason,
                      held_by, outcome, outcome_code, outcome_reason
               from ledger order by stream, row_key`,
}

export type FinalTables = Record<string, { rows: number; hash: string }>

/** A hash over each final table: equal for two nights that ended in the same state. */
export async function finalTables(pool: pg.Pool): Promise<FinalTables> {
  const tables: FinalTables = {}
  for (const [name, query] of Object.entries(contents)) {
    const { rows } = await pool.query<Record<string, unknown>>(query)
    tables[name] = { rows: rows.length, hash: createHash('sha256').update(JSON.stringify(rows)).digest('hex') }
  }
  return tables
}
