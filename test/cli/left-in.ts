import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import type { RunFailure } from '../../src/db/tables/run-tables.ts'

/** What runs have left in a database. */
export type Left = {
  runs: { state: string; verdict: string | null; trigger: string; resumed: number; failure: RunFailure | null }[]
  submissions: number
  /** Ledger rows by stream; streams without any are not listed. */
  rows: Record<string, number>
  /** Streams that have a watermark, in alphabetical order. */
  watermarks: string[]
}

/** Reads what is in a database of ours; one that was never migrated holds nothing. */
export async function leftIn(url: string): Promise<Left> {
  const pool = createPool(url, {
    max: 1,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  try {
    const { rows: migrated } = await pool.query(`select from pg_class where oid = to_regclass('nightferry.run')`)
    if (migrated.length === 0) return { runs: [], submissions: 0, rows: {}, watermarks: [] }
    const { rows: runs } = await pool.query<Left['runs'][number]>(
      'select state, verdict, trigger, resumed, failure from run order by run_id',
    )
    const { rows: counted } = await pool.query<Omit<Left, 'runs'>>(`
      select (select count(*) from submission) as submissions,
             (select coalesce(jsonb_object_agg(stream, rows), '{}') from
               (select stream, count(*) as rows from source_row group by stream) by_stream) as rows,
             (select coalesce(jsonb_agg(stream order by stream), '[]') from stream_watermark) as watermarks`)
    if (counted[0] === undefined) throw new Error('the counts are missing')
    return { runs, ...counted[0] }
  } finally {
    await pool.end()
  }
}
