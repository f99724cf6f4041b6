import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { newestRuns } from '../db/runs/newest-runs.ts'
import { schemaName } from '../db/schema-standing.ts'
import { connectionsAtWork } from '../db/service-key/keys-at-work.ts'
import { databaseBytes, serverFacts, tableFacts } from '../doctor/own-database-checks.ts'

/** Runs and requests that are told; with them a report of a bad month is a few megabytes. */
const newest = { runs: 30, submissions: 500 }

/** Each part of what the database tells of itself, by the name of its file. A part that fails says why. */
export const databaseFacts: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  'server.json': async (db) => ({
    ...(await serverFacts(db)),
    database_bytes: await databaseBytes(db),
    connections_at_work: await connectionsAtWork(db),
    settings: await serverSettings(db),
  }),
  'tables.json': tableFacts,
  'migrations.json': migrations,
  'queue.json': queueState,
  'runs.json': (db) => newestRuns(db, newest.runs, { reports: 'whole' }),
  'submissions.json': newestSubmissions,
  'ledger.json': ledgerCounts,
}

async function serverSettings(db: Database): Promise<unknown> {
  const names = ['max_connections', 'shared_buffers', 'work_mem', 'autovacuum', 'max_wal_size', 'jit', 'TimeZone']
  const { rows } = await sql`
    select name, setting, unit from pg_settings where name = any(${names}) order by name`.execute(db)
  return rows
}

async function migrations(db: Database): Promise<unknown> {
  const { rows } = await sql`
    select name, timestamp from ${sql.id(schemaName, 'kysely_migration')} order by name`.execute(db)
  return rows
}

async function queueState(db: Database): Promise<unknown> {
  const { rows } = await sql`
    select name as queue, state::text as state, count(*) as jobs, min(created_on) as oldest, max(retry_count) as retries
    from ${sql.id(`${schemaName}_queue`, 'job')} group by name, state order by name, state`.execute(db)
  return rows
}

/** Neither the task nor what was said of rows: those quote them. */
async function newestSubmissions(db: Database): Promise<unknown> {
  return await db
    .selectFrom('submission')
    .select(['submission_id', 'run_id', 'kind', 'state', 'row_count', 'parent_id', 'depth', 'correlation_id'])
    .select(['attempts', 'repeats', 'failures', 'failing_since', 'polls', 'task_status', 'payload_bytes', 'error_code'])
    .select(['unmatched_count', 'rest_outcome', 'rest_code', 'planned_at', 'attempted_at', 'uncertain_since'])
    .select(['accepted_at', 'polled_at', 'terminal_at', 'settled_at', 'too_large', 'overdue_since'])
    .orderBy('submission_id', 'desc')
    .limit(newest.submissions)
    .execute()
}

async function ledgerCounts(db: Database): Promise<unknown> {
  const { rows } = await sql`
    select stream, count(*) as rows, count(*) filter (where gone_at is not null) as gone
    from source_row group by stream order by stream`.execute(db)
  return rows
}

/** Members whose texts are words of Nightferry, of its configuration or of the service. */
const words = new Set([
  ...['stream', 'kind', 'state', 'status', 'task_status', 'outcome', 'verdict', 'trigger', 'job', 'step', 'capture'],
  ...['code', 'error_code', 'rest_code', 'protection', 'whole', 'lacks', 'level', 'msg', 'time', 'event', 'queue'],
  'correlation_id',
])

/** The service may call a sentence a code, and a sentence may quote a row. */
const word = /^[\w:.-]{1,80}$/

/** Members that hold what a partner's columns hold, whatever those are called, or what was said of single rows. */
const ofRows = new Set(['content', 'before', 'after', 'examples', 'unmatched_examples'])

/** What stands where a text was left out. */
const leftOut = '(left out; --with-rows keeps it)'

const moment = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/
/** Keys of ours; a hotel's id could stand as a key as well. */
const ownKey = /^[a-z][a-z_]{0,40}$/

/**
 * The same value without any text that could come from a row: a hotel's name or id, a value, a message that quotes one.
 * Numbers, times, words of ours and the shape stay. Pure.
 */
export function withoutRows(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return (words.has(key) && word.test(value)) || moment.test(value) ? value : leftOut
  if (value instanceof Date) return value
  if (ofRows.has(key)) return value === null ? null : leftOut
  if (Array.isArray(value)) return value.map((element) => withoutRows(element, key))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([name, member], index) => {
      const shown = ownKey.test(name) ? name : `(left out ${index + 1})`
      return [shown, withoutRows(member, shown)]
    }),
  )
}

/** Lines of a log without texts that could come from a row; a line that is no JSON is only counted. Pure. */
export function logWithoutRows(text: string): string {
  let others = 0
  const kept = text.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    try {
      return [JSON.stringify(withoutRows(JSON.parse(line)))]
    } catch {
      others += 1
      return []
    }
  })
  return [
    ...kept,
    ...(others > 0 ? [`(${others} lines that are no JSON were left out; --with-rows keeps them)`] : []),
    '',
  ].join('\n')
}

const block = 512

/**
 * A gzipped tar archive (POSIX ustar) of texts, each a file that its owner alone may read. Pure.
 * @param names relative paths of at most 100 bytes.
 */
export function tarGz(files: ReadonlyMap<string, string>, at: Date): Buffer {
  const parts = [...files].flatMap(([name, text]) => {
    const content = Buffer.from(text)
    return [header(name, content.length, at), content, Buffer.alloc((block - (content.length % block)) % block)]
  })
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * block)]))
}

function header(name: string, bytes: number, at: Date): Buffer {
  const made = Buffer.alloc(block)
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name} is too long a name`)
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`
  const fields: [at: number, text: string][] = [
    [0, name],
    [100, octal(0o600, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, octal(bytes, 12)],
    [136, octal(Math.floor(at.getTime() / 1000), 12)],
    // The sum is reckoned with blanks in its own place.
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\u000000'],
  ]
  for (const [place, text] of fields) made.write(text, place, 'latin1')
  made.write(
    `${octal(
      made.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
    'latin1',
  )
  return made
}
