import { statfs } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { schemaName } from '../../db/migrate-to-latest.ts'
import { inOrder, type StoredTable, storedTables } from '../../db/stored-tables.ts'
import { RehearsalRefused } from './rehearsal-database.ts'

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

function sumOf(tables: readonly StoredTable[]): number {
  return tables.reduce((sum, { bytes }) => sum + bytes, 0)
}

/**
 * Asked before a mirror is taken, which would send searches beside the run's, and again of what is copied.
 * @throws {RehearsalRefused} `run_under_way`.
 */
export async function refuseRunning(source: pg.Pool | pg.PoolClient): Promise<void> {
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
async function copyTable(from: pg.PoolClient, to: pg.PoolClient, { name, columns }: StoredTable): Promise<void> {
  const table = to.escapeIdentifier(name)
  const listed = columns.map((column) => to.escapeIdentifier(column)).join(', ')
  await to.query(`alter table ${table} disable trigger user`)
  const reading = from.query(copyTo(`copy (select ${listed} from ${table} ${partly[name] ?? ''}) to stdout`))
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

/**
 * What a rehearsal does without: what was sent and told in earlier nights, what people asked for meanwhile, and what
 * belongs to the service's key. A rehearsal must not wait for a pause, start a job or tell anybody of it.
 */
const leftOut: ReadonlySet<string> = new Set([
  ...['submission_payload', 'staged_outcome'],
  ...['job_pause', 'job_request', 'notification', 'notification_mark'],
  ...['service_key', 'webhook_event', 'webhook_refusal', 'webhook_receiver'],
])

/**
 * Of the past of rows a night reads that of rows which are not accepted as they stand: what they said when they were.
 */
const partly: Record<string, string> = {
  row_change: 'where row_id in (select row_id from ledger where pending)',
}

/** The tables that a rehearsal needs, each after those that its foreign keys lead to. */
async function ledgerTables(client: pg.ClientBase, schema: string): Promise<StoredTable[]> {
  const wanted = (await storedTables(client, schema)).filter(({ name }) => !leftOut.has(name))
  for (const table of wanted) {
    const condition = partly[table.name]
    if (condition !== undefined) table.bytes = await bytesOfPart(client, table.name, condition)
  }
  return inOrder(wanted)
}

/** What a part of a table takes, in bytes, without its indexes. */
async function bytesOfPart(client: pg.ClientBase, name: string, condition: string): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `select coalesce(sum(pg_column_size(part)), 0) as bytes from ${client.escapeIdentifier(name)} part ${condition}`,
  )
  return Number(rows[0]?.bytes)
}

/** The copy's own growth in a night: payloads, new rows, the log of the server. Too low fails in the midst of it. */
const growth = 1.5
/** Tables and indexes of the mirror's companies, by the bytes of the world file. */
const worldFactor = 4
/** What nobody should use up: other programs write there too. In bytes. */
const reserve = 256 * 1024 * 1024

/** What a rehearsal takes on the disk, in bytes: more than it will. Pure. */
export function bytesNeeded(ledger: number, worldFile: number): number {
  return Math.ceil(ledger * growth + worldFile * worldFactor) + reserve
}

/** What takes room on a disk, and how it can be had elsewhere. */
const takers = {
  copy: {
    what: 'the copy of the ledger and the mirror',
    elsewhere: 'name a database elsewhere with --database',
  },
  world: {
    what: 'the file of the mirror',
    elsewhere: 'take the mirror elsewhere with nightferry sandbox --mirror, and name it with --world',
  },
} as const

/**
 * @param folder on the file system that is to be written to; null: it is on another machine.
 * @returns how much is free, in bytes; null where that cannot be known.
 * @throws {RehearsalRefused} `rehearsal_no_room`.
 */
export async function requireRoom(
  folder: string | null,
  needed: number,
  taker: keyof typeof takers = 'copy',
): Promise<number | null> {
  const place = folder === null ? null : await statfs(folder).catch(() => null)
  if (place === null) return null
  const free = place.bavail * place.bsize
  if (free >= needed) return free
  const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en')} MiB`
  const { what, elsewhere } = takers[taker]
  throw new RehearsalRefused(
    'rehearsal_no_room',
    `A rehearsal needs ${mebibytes(needed)} for ${what}, and ${folder} has ${mebibytes(free)} free. Make room there, or ${elsewhere}.`,
  )
}
