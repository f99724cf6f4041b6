import type pg from 'pg'
import { type Config, type StreamConfig, type StreamName, settings } from '../../../src/config/schema.ts'
import { extract } from '../../../src/pipeline/delta/extract.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { testPool } from '../../helpers/test-pool.ts'
import type { Ferry } from '../push/ferry.ts'

export type Partner = { url: string; pool: pg.Pool; close(): Promise<void> }

/** A partner's database with hotels that have a cursor of every type. */
export async function openPartner(): Promise<Partner> {
  const { url } = await testDatabase({ template: 'empty' })
  const pool = testPool(url, 3)
  await pool.query(`
    create table hotel (
      code text, name text, at timestamptz, number bigint, day date, local timestamp, secret text)`)
  return { url, pool, close: () => pool.end() }
}

export const propertiesQuery = `
  select code as partner_id, name, null as street, null as latitude, null as longitude, null as country_code,
         null as airport_code, null as hotel_code, null as booking_id, at, number, day, local
  from hotel`

export const settingsQuery = `
  select code as partner_id, 'true' as automatic_yearly_calculation, 'false' as automatic_publishing, at from hotel`

export type Streams = Partial<Record<StreamName, Partial<StreamConfig>>>

/** Extracts in a run of its own, or in the one that is given. */
export async function extractNow(
  ferry: Ferry,
  partner: { url: string },
  streams: Streams,
  settingsOfPartner: Partial<Config['partner']> = {},
  runId?: number,
  guard: Partial<Config['guard']> = {},
  lookups: Record<string, { file: string }> = {},
): Promise<number> {
  const full = Object.fromEntries(
    Object.entries(streams).map(([name, stream]) => [name, { query: propertiesQuery, cursor: 'at', ...stream }]),
  )
  const config = settings.parse({ partner: { overlapMs: 0, ...settingsOfPartner }, guard, lookups, streams: full })
  await using plain = ferry.deps('http://127.0.0.1:9')
  const deps: Deps = { ...plain, config, required: { ...plain.required, partnerUrl: partner.url } }
  const id = runId ?? (await ferry.ledger.startRun())
  const run = await deps.db.selectFrom('run').selectAll().where('run_id', '=', id).executeTakeFirstOrThrow()
  await extract(deps, run)
  return id
}
