import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { buildProgram } from './build-program.ts'
import type { Opened } from './opened.ts'

export type VerbsWorld = {
  /** Of Nightferry's database, on a server that runs. */
  url: string
  /** A folder to call the program from. */
  folder: string
  /** The built program. */
  script: string
  /** The demo's: rows of each stream require another's. */
  configFile: string
  /** A hotel with rows of every kind. */
  hotel: string
}

/** The program built, and a database with so many ledger rows. All of it is gone when `opened` is closed. */
export async function openVerbsWorld(opened: Opened, rows: number): Promise<VerbsWorld> {
  const folder = await opened.folder('verbs')
  const script = await buildProgram(join(folder, 'program'), opened.signal)
  const cluster = await opened.server(join(folder, 'server'))
  await cluster.ensureDatabase('nightferry')
  const url = cluster.url('nightferry')
  await migrateToLatest(url)
  await fillLedger(url, rows)
  const configFile = fileURLToPath(new URL('../config/demo.yaml', import.meta.url))
  return { url, folder, script, configFile, hotel: 'H-0000042' }
}

/**
 * A ledger after many nights: ten rows of each hotel, one of them its property. The service has rejected one row in a
 * thousand and the property of one hotel in a thousand, whose other rows are parked. One row in a hundred has changed
 * since.
 */
export async function fillLedger(url: string, rows: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schemaName}` })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(
      `insert into run (job, trigger, scheduled_for, state, step, verdict, finished_at)
       values ('nightly-sync', 'cli', now(), 'finished', 'done', 'partial', now())`,
    )
    await client.query(
      `insert into submission (run_id, kind, state, row_count, correlation_id, task_status)
       select run_id, 'calculators', 'settled', $1, gen_random_uuid()::text, 'PartialSuccess' from run`,
      [rows],
    )
    await client.query(
      `insert into source_row (stream, partner_id, row_key, content, desired_hash)
       select stream, partner_id, concat_ws('/', partner_id, part),
              jsonb_build_object('id', partner_id, 'year', '2025', 'month', part::text, 'inputs', jsonb_build_object('water', n::text)),
              substring(sha256(n::text::bytea) for 16)
       from generate_series(0, $1::integer - 1) n
       cross join lateral (select n % 10 as part, 'H-' || lpad((n / 10)::text, 7, '0') as partner_id) hotel
       cross join lateral (select case when part = 0 then 'properties' when part < 3 then 'framework_answers'
                                       else 'calculator_inputs' end as stream) streamed`,
      [rows],
    )
    await client.query(
      `insert into acceptance (row_id, partner_id, wanted_hash, checked_hash, accepted_hash, refused_hash,
                               outcome, outcome_code, outcome_reason, outcome_submission, outcome_at, accepted_at)
       select row_id, partner_id, desired_hash, desired_hash,
              case when rejected or changed or parked then null else desired_hash end,
              case when rejected then desired_hash end,
              case when rejected then 'rejected' when changed or parked then null else 'confirmed' end,
              case when rejected then 'UnitUnknown' end, case when rejected then 'The unit is not known.' end,
              case when not parked then submission_id end, now(), case when not rejected and not parked then now() end
       from source_row
       cross join lateral (select row_id % 100 = 50 as changed,
                                  row_id % 1000 = 7 or row_id % 10000 = 5001 as rejected,
                                  (row_id - 1) / 10 % 1000 = 500 and row_id % 10 <> 1 as parked) standing
       cross join submission
       order by row_id`,
    )
    await client.query(
      `insert into mapping (partner_id, company_id, submission_id)
       select partner_id, md5(partner_id)::uuid, submission_id from source_row cross join submission
       where stream = 'properties'`,
    )
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}
