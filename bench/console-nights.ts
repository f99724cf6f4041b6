import type pg from 'pg'

/** Requests of each night. */
const requests = 100

/**
 * So many finished runs after the one of the ledger, each with a report like that of a night with a few remarks, and
 * with its requests; for each hotel a document, and ten changes of its values; and what people did, once a night.
 */
export async function fillNights(pool: pg.Pool, { nights, hotels }: { nights: number; hotels: number }): Promise<void> {
  await pool.query(
    `insert into run (job, trigger, scheduled_for, state, step, verdict, started_at, finished_at, report)
     select 'nightly-sync', 'schedule', now() - n * interval '1 day', 'finished', 'report', 'partial',
            now() - n * interval '1 day', now() - n * interval '1 day' + interval '40 minutes',
            jsonb_build_object('remarks', jsonb_build_array('5 rows rejected by the service.'), 'streams', (
              select jsonb_agg(jsonb_build_object('stream', 'stream ' || s, 'read', 1000, 'sent', 90, 'confirmed', 80,
                                                  'inferred', 5, 'rejected', 5, 'invalid', 0, 'parked', 3))
              from generate_series(1, 7) s), 'submissions', (
              select jsonb_agg(jsonb_build_object('submission_id', r, 'kind', 'calculators', 'correlation_id', md5(r::text)))
              from generate_series(1, $2::integer) r))
     from generate_series($1::integer, 2, -1) n`,
    [nights, requests],
  )
  await pool.query(
    `insert into submission (run_id, kind, state, row_count, correlation_id, task_status, failures, repeats)
     select run_id, 'calculators', 'settled', 1000, gen_random_uuid()::text, 'PartialSuccess', 0, (n % 50 = 0)::integer
     from run cross join generate_series(1, $1::integer) n where report is not null order by run_id, n`,
    [requests],
  )
  await pool.query(
    `insert into document (search, list, document_id, content_hash, document)
     select 'all_companies', 'companies', company_id::text, sha256(company_id::text::bytea),
            jsonb_build_object('id', company_id, 'name', name, 'street', 'Along the River 1', 'countryCode', 'DK',
                               'coordinates', jsonb_build_object('latitude', 55.1, 'longitude', 12.1))
     from company limit $1`,
    [hotels],
  )
  await pool.query(
    `insert into calculator_value_change (company_key, calculator_key, variable_key, direction, submission_id, before, after)
     select company_key, calculator_key, variable_key, direction, last.submission_id, '1.00', value
     from (select * from calculator_value limit 10 * $1::bigint) v
     cross join (select max(submission_id) as submission_id from submission) last`,
    [hotels],
  )
  await pool.query(
    `insert into action (verb, acted_by, host, acted_at, rows, asked)
     select 'retry', 'Ann (console)', 'bench', now() - n * interval '1 day', 5, '{"reason": "unit"}'
     from generate_series(1, $1::integer) n`,
    [nights],
  )
}
