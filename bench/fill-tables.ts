import type pg from 'pg'

export type Filling = {
  /** About how many: whole companies are made. */
  calculators: number
  /** Of each company; 13 are the months of a year and the year. */
  perCompany?: number
  /** Of each calculator, inputs and outputs together; at most 40. */
  values?: number
  /** Whether the ledger holds what was sent: a row per calculator with its inputs, accepted as it is. */
  ledger?: boolean
}

/**
 * Fills the tables under the views as searches would: companies in the order in which they came, the rows of each side
 * by side, in the sizes that the service's texts have. The same arguments make the same rows.
 *
 * The pool must find the tables without their schema. Nothing else may be in them.
 */
export async function fillTables(pool: pg.Pool, filling: Filling): Promise<void> {
  const { perCompany = 13, values = 18 } = filling
  const companies = Math.max(1, Math.round(filling.calculators / perCompany))
  await pool.query(
    `insert into calculator_variable (variable_id, name)
     select md5('variable ' || n)::uuid::text, case n when 40 then 'Total (kg CO2e)' else 'Variable number ' || n end
     from generate_series(1, 40) n order by n`,
  )
  await pool.query(
    `insert into custom_property (property_id, name)
     select md5('property ' || n)::uuid::text, 'Property ' || n from generate_series(1, 2) n order by n`,
  )
  await pool.query(
    `insert into page_listing (variable_keys, property_keys)
     select (select array_agg(variable_key order by variable_key) from calculator_variable), array[1, 2]
     from generate_series(1, ($1::integer + 999) / 1000)`,
    [companies],
  )
  await pool.query(
    `insert into company (company_id, name, content_hash, listing_key, calculators, values)
     select md5('company ' || n)::uuid, 'Hotel by the River ' || n, md5('content ' || n)::uuid, 1 + (n - 1) / 1000, $2::integer, $2::integer * $3::integer
     from generate_series(1, $1) n order by n`,
    [companies, perCompany, values],
  )
  await pool.query(
    `insert into company_property (company_key, property_key, ordinal, value)
     select company, property, 1, 'H-' || lpad(company::text, 7, '0')
     from generate_series(1, $1) company, generate_series(1, 2) property order by 1, 2`,
    [companies],
  )
  await pool.query(
    `insert into calculator (calculator_id, company_key, type_id, title, period_year, period_month)
     select md5('calculator ' || company || '/' || n)::uuid, company, md5('type ' || n / 13 % 2)::uuid,
            case n / 13 % 2 when 0 then 'Carbon footprint' else 'Water footprint' end,
            2025 - n / 26, nullif(n % 13, 0)
     from generate_series(1, $1) company, generate_series(0, $2::integer - 1) n order by company, n`,
    [companies, perCompany],
  )
  await pool.query(
    `insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
     select company_key, calculator_key, case direction when 'i' then n else 41 + ($1::integer + 1) / 2 - n end, direction::"char",
            case when hash % 200 = 0 then 'not metered' else round((hash % 10000000) / 100.0, 2)::text end
     from (
       select company_key, calculator_key, n, case when n <= ($1::integer + 1) / 2 then 'i' else 'o' end as direction,
              abs(hashint8(calculator_key::bigint * 100 + n)::bigint) as hash
       from calculator, generate_series(1, $1) n
     ) v
     order by company_key, calculator_key`,
    [values],
  )
  await pool.query(
    `insert into run (job, trigger, scheduled_for, state, step) values ('bench', 'cli', 'epoch', 'finished', 'done')`,
  )
  await pool.query(
    `insert into submission (run_id, kind, state, row_count)
     select max(run_id), 'company_mappings', 'settled', $1 from run`,
    [companies],
  )
  await pool.query(
    `insert into mapping (partner_id, company_id, submission_id, mapped_at)
     select 'H-' || lpad(company_key::text, 7, '0'), company_id, (select max(submission_id) from submission), now()
     from company`,
  )
  if (filling.ledger) await fillLedger(pool)
  await pool.query('vacuum analyze')
}

/** What was sent is what came back, but for one row of a thousand. */
async function fillLedger(pool: pg.Pool): Promise<void> {
  await pool.query(
    `with written as (
       insert into source_row (stream, partner_id, row_key, content, desired_hash)
       select 'calculator_inputs', partner_id, row_key, content, substring(sha256(content::text::bytea) for 16)
       from (
       select partner_id, concat_ws('/', partner_id, k.period_year, k.period_month, k.type_id) as row_key, content
       from calculator k join company using (company_key) join mapping using (company_id)
       cross join lateral (
         select jsonb_build_object('year', k.period_year::text, 'month', k.period_month::text, 'inputs',
           jsonb_object_agg(variable_id, case when k.calculator_key % 1000 = 0 then '-1' else value end)) as content
         from calculator_value v join calculator_variable using (variable_key)
         where v.company_key = k.company_key and v.calculator_key = k.calculator_key and direction = 'i'
       ) sent
       ) rows
       returning row_id, partner_id, desired_hash
     )
     insert into acceptance (row_id, partner_id, wanted_hash, accepted_hash, outcome, accepted_at, outcome_at)
     select row_id, partner_id, desired_hash, desired_hash, 'confirmed', now(), now()
     from written
     order by row_id`,
  )
}
