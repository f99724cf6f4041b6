import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { schemaName } from '../../db/migrate-to-latest.ts'
import { type LedgerTable, ledgerTables } from './ledger-tables.ts'
import { RehearsalRefused } from './rehearsal-refused.ts'

export type LedgerCopy = { tables: number; bytes: number }

/** How large a copy of the ledger would be, in bytes as the source stores it; read before anything is copied. */
export async function ledgerBytes(source: pg.Pool): Promise<number> {
  const client = await source.connect()
  try {
    return sumOf(await ledgerTables(client, schemaName))
  } finally {
    client.release()
  }
}

/**
 * Copies the ledger as it is at one moment into a database that was migrated and holds nothing else: table by table,
 * streamed from one repeatable-read transaction, so that the source can be in use and memory stays small. The source
 * is only read. A template database would need the source to be idle, and to be on the same server.
 *
 * @throws {RehearsalRefused} `run_under_way`: what a run is in the midst of cannot be rehearsed.
 */
export async function copyLedger(source: pg.Pool, target: pg.Pool, signal: AbortSignal): Promise<LedgerCopy> {
  const from = await source.connect()
  const to = await target.connect()
  let broken = true
  try {
    await from.query('begin transaction isolation level repeatable read, read only')
    await refuseRunning(from)
    const tables = await ledgerTables(from, schemaName)
    await to.query('begin')
    await to.query(`truncate ${tables.map(({ name }) => to.escapeIdentifier(name)).join(', ')} cascade`)
    for (const table of tables) {
      signal.throwIfAborted()
      await copyTable(from, to, table)
    }
    await copySequences(from, to)
    await to.query('commit')
    await from.query('rollback')
    await to.query('analyze')
    broken = false
    return { tables: tables.length, bytes: sumOf(tables) }
  } finally {
    // A COPY that was broken off leaves a connection that nobody can use.
    from.release(broken)
    to.release(broken)
  }
}

function sumOf(tables: readonly LedgerTable[]): number {
  return tables.reduce((sum, { bytes }) => sum + bytes, 0)
}

async function refuseRunning(source: pg.PoolClient): Promise<void> {
  const { rows } = await source.query<{ run_id: string; job: string }>(
    `select run_id, job from run where state = 'running' order by run_id limit 1`,
  )
  const [running] = rows
  if (running === undefined) return
  throw new RehearsalRefused(
    'run_under_way',
    `Run ${running.run_id} of ${running.job} is under way, and what it is in the midst of cannot be rehearsed. Rehearse when it has ended.`,
  )
}

/** Triggers stay off: the copy is to contain what the source contains, and nothing that comes of its being written. */
async function copyTable(from: pg.PoolClient, to: pg.PoolClient, { name, columns }: LedgerTable): Promise<void> {
  const table = to.escapeIdentifier(name)
  const listed = columns.map((column) => to.escapeIdentifier(column)).join(', ')
  await to.query(`alter table ${table} disable trigger user`)
  const reading = from.query(copyTo(`copy (select ${listed} from ${table}) to stdout`))
  await pipeline(reading, to.query(copyFrom(`copy ${table} (${listed}) from stdin`)))
  await to.query(`alter table ${table} enable trigger user`)
}

/** New rows of the copy get the numbers that they would have got in the source. */
async function copySequences(from: pg.PoolClient, to: pg.PoolClient): Promise<void> {
  const { rows } = await from.query<{ name: string; last: string | null }>(
    'select sequencename::text as name, last_value as last from pg_sequences where schemaname = $1',
    [schemaName],
  )
  for (const { name, last } of rows) {
    if (last !== null) await to.query('select setval($1::regclass, $2)', [to.escapeIdentifier(name), last])
  }
}
