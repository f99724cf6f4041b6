import pg from 'pg'
import type { CursorProtection, ProtectionLack } from '../db/tables/run-tables.ts'
import {
  type CursorQuery,
  type DeltaQuery,
  type Newest,
  type PartnerSnapshot,
  type QueryPlan,
  type StreamQuery,
  withoutSemicolon,
} from './dialect.ts'
import { PartnerDatabaseError, whyUnreachable } from './partner-errors.ts'

/**
 * The configured query, wrapped: its columns as text, in cursor order, from the watermark on; rows without a cursor are
 * always read.
 */
export function deltaSql(
  cursorType: number | undefined,
  bound: PostgresBound,
  delta: DeltaQuery,
): { text: string; values: unknown[] } {
  const { select, at, by, type } = cursorSql(cursorType, bound, delta)
  const lower = type === undefined ? '$1' : lowerBound(type, delta.overlapMs)
  const past = delta.from === null || lastOfAll.has(delta.from) ? '' : ` where ${at} >= ${lower} or ${at} is null`
  const which = delta.only === undefined ? past : onlySql(delta.only)
  return {
    text: `${select}${which} order by ${by} nulls first`,
    values: delta.only !== undefined ? [delta.only.partnerIds] : past === '' ? [] : [delta.from],
  }
}

/** A day is read again if a moment of it is. */
function lowerBound(type: string, overlapMs: number): string {
  return `($1::${type} - interval '${Math.trunc(overlapMs)} milliseconds')::${type}`
}

/**
 * The columns of a query and its cursor as far as it may move the watermark; the cursor itself, and that by which rows
 * come in order, which is null where none may move the watermark; the same as far as the cursor itself may move it; its
 * type if a time.
 */
export function cursorSql(
  cursorType: number | undefined,
  bound: PostgresBound,
  query: CursorQuery,
): { select: string; at: string; by: string; reached: string; type: string | undefined } {
  // A transaction that is still open may commit rows that carry the time at which it began, and a time that lies ahead
  // may be anything: neither may carry the watermark past what was not seen.
  const type = timeTypes[cursorType ?? 0]
  const moment = `${pg.escapeLiteral(bound.moment)}::timestamptz`
  // A time without a zone is what clocks showed at the partner, which may stand at UTC or behind it.
  const shown = `least(${moment} at time zone 'UTC', ${moment} at time zone ${pg.escapeLiteral(bound.zone)})`
  const newest = type === 'timestamptz' ? moment : `${shown}::${type}`
  const at = `s.${pg.escapeIdentifier(query.cursor)}`
  const by = floating.has(cursorType ?? 0)
    ? `case when ${at}::text <> all('{${[...lastOfAll].join()}}') then ${at} end`
    : at
  const cursor = type === undefined ? by : `case when ${at} > ${newest} then ${newest} else ${at} end`
  const reached = type === undefined ? by : `case when ${at} <= ${newest} then ${at} end`
  const itself = type === undefined ? '' : `, case when ${at} > ${newest} then ${at} end::text`
  const select = `select ${textColumns(query)}, ${cursor}::text${itself} from (${withoutSemicolon(query.query)}\n) s`
  return { select, at, by, reached, type }
}

/**
 * The row that comes last by `by` or `reached` of `cursorSql`, by an expression that no index has: a walk through an
 * index may take longer than reading all.
 */
export function lastRowSql(
  cursorType: number | undefined,
  bound: PostgresBound,
  query: CursorQuery,
  last: 'by' | 'reached',
): string {
  const key = cursorSql(cursorType, bound, query)[last]
  // Found first and printed afterwards: the server would print every row before it sorts.
  const found = `select * from (${withoutSemicolon(query.query)}\n) s where ${key} is not null order by coalesce(${key}, ${key}) desc limit 1`
  return cursorSql(cursorType, bound, { ...query, query: found }).select
}

/** Types of numbers that may be none, or without end. */
const floating: ReadonlySet<number> = new Set([700, 701, 1700])

/**
 * Numbers past all that a row may yet get: a row that has one for a cursor would carry the watermark past every other.
 * It is a row without a cursor, and always read.
 */
const lastOfAll: ReadonlySet<string> = new Set(['NaN', 'Infinity'])

/** By the same text as is read. */
function onlySql({ column, partnerIds }: NonNullable<DeltaQuery['only']>): string {
  const id = `s.${pg.escapeIdentifier(column)}`
  return ` where ${id}::text = any($1::text[])${partnerIds.includes('') ? ` or ${id} is null` : ''}`
}

/** The columns of a stream's query as the server prints them. */
export function textColumns({ columns }: StreamQuery): string {
  return columns.map((column) => `s.${pg.escapeIdentifier(column)}::text`).join(', ')
}

/** Types of times: only of these can be said which value an open transaction may still commit. */
const timeTypes: Record<number, string> = { 1082: 'date', 1114: 'timestamp', 1184: 'timestamptz' }

/** How well a cursor of this type finds rows that are committed late. */
export function protectionOf(cursorType: number | undefined, { lacks }: PostgresBound): CursorProtection {
  if (timeTypes[cursorType ?? 0] === undefined) return 'none'
  return lacks === null ? 'transactions' : 'overlap'
}

/** The row with the newest cursor among those that come in any order, as far as the texts of its type say which. */
export class NewestRow {
  readonly #rankOf: ((text: string) => string | bigint | null) | undefined
  readonly #at: number
  #rank: string | bigint | null = null
  #text: string | null = null

  /** Whether the texts said of every row so far whether it is newer. */
  isTold: boolean

  #reachedRank: string | bigint | null = null

  /** The newest so far; null while no row had a cursor. */
  newest: Newest | null = null

  constructor(cursorType: number | undefined, { columns }: CursorQuery) {
    const type = cursorType ?? 0
    this.#rankOf = timeTypes[type] !== undefined ? plainTime : integerTypes.has(type) ? BigInt : undefined
    this.#at = columns.length
    this.isTold = this.#rankOf !== undefined
  }

  /** Looks at the next rows. Of rows with equal cursors the first counts. */
  look(rows: readonly (string | null)[][]): void {
    if (!this.isTold || this.#rankOf === undefined) return
    for (const row of rows) {
      const itself = row[this.#at + 1] ?? null
      const text = itself ?? row[this.#at] ?? null
      if (text === null || text === this.#text || text === this.newest?.reached) continue
      const rank = this.#rankOf(text)
      if (rank === null) {
        this.isTold = false
        return
      }
      this.newest ??= { row, reached: null }
      if (itself === null && (this.#reachedRank === null || rank > this.#reachedRank)) {
        this.#reachedRank = rank
        this.newest.reached = text
      }
      if (this.#rank !== null && rank <= this.#rank) continue
      this.#rank = rank
      this.#text = text
      this.newest.row = row
    }
  }
}

/** Types of whole numbers. */
const integerTypes: ReadonlySet<number> = new Set([20, 21, 23])

/** A time whose text stands among others of its type as the time does: years of four digits, after Christ. */
function plainTime(text: string): string | null {
  return text[4] === '-' && !text.endsWith('C') ? text : null
}

/**
 * No row past this moment may move a watermark. `openMs`: how long the oldest transaction has been open; `zone`: where
 * the server's clocks without a time zone stand; `lacks`: why the moment does not speak for all transactions, so that
 * the overlap has to protect; null if it does.
 */
export type PostgresBound = {
  moment: string
  openMs: number
  zone: string
  lacks: ProtectionLack | null
  clock: PartnerSnapshot['clock']
}

/** The oldest major version that can be read: `pg_current_snapshot` is there since then. */
const oldestMajor = 13

/**
 * Asked for before all else that an old server may refuse in words of its own.
 * @throws {PartnerDatabaseError} `partner_too_old`, with the least version.
 */
export async function requireVersion(client: pg.Client, url: string): Promise<void> {
  const { rows } = await client.query<{ version: string; shown: string }>(
    `select current_setting('server_version_num') as version, current_setting('server_version') as shown`,
  )
  const [server] = rows
  if (server === undefined || Number(server.version) >= oldestMajor * 10_000) return
  const { place } = whyUnreachable(url, {})
  throw new PartnerDatabaseError(
    'partner_too_old',
    `The partner's database at ${place} is PostgreSQL ${server.shown}, which Nightferry cannot read. Use PostgreSQL ${oldestMajor} or newer.`,
  )
}

/**
 * The start of the oldest transaction that is open in the partner's database now, or a tenth of a second ago, in UTC,
 * because an abbreviation that the session's own zone is printed with can mean another zone once it is read. The tenth
 * is for transactions that have begun and are not listed yet, for want of a processor.
 *
 * Five things hide transactions. A standby lists its own and not those of its primary, which are the ones that write;
 * so does a subscriber. Sessions with `track_activities` off leave no start; they show as disabled to those who may see
 * them. Transactions of other roles show their start only to members of pg_read_all_stats. And one that is prepared
 * shows when it was prepared, which is later than the times in its rows. For all of them there is the overlap.
 */
export async function oldestOpen(client: pg.Client): Promise<PostgresBound> {
  const at = performance.now()
  const { rows } = await client.query<Omit<PostgresBound, 'openMs' | 'clock'> & { open_ms: string; clock_ms: string }>(
    `select to_char(least(statement_timestamp() - interval '100 milliseconds', min(began)) at time zone 'UTC',
                    'YYYY-MM-DD HH24:MI:SS.US"+00"') as moment,
            greatest(extract(epoch from statement_timestamp() - min(began)) * 1000, 0)::text as open_ms,
            (extract(epoch from statement_timestamp()) * 1000)::text as clock_ms,
            current_setting('TimeZone') as zone,
            case when pg_is_in_recovery() then 'standby'
                 when exists (select from pg_subscription
                              where subdbid = (select oid from pg_database where datname = current_database()))
                   then 'subscriber'
                 when not pg_has_role(current_user, 'pg_read_all_stats', 'usage') then 'privilege'
                 when current_setting('track_activities') <> 'on' or coalesce(bool_or(untracked), false)
                   then 'track_activities'
                 when bool_or(prepared) then 'prepared' end as lacks
     from (select xact_start as began, state = 'disabled' as untracked, false as prepared from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()
           union all
           select prepared, false, true from pg_prepared_xacts where database = current_database()) open_transaction`,
  )
  const bound = rows[0]
  if (bound === undefined) throw new Error('the server did not say what time it is')
  const { open_ms, clock_ms, ...rest } = bound
  return { ...rest, openMs: Number(open_ms), clock: { ms: Number(clock_ms), at } }
}

/**
 * The cluster, its timeline and the database's own number. A restore of files begins another timeline or is another
 * cluster, and a database that was created again has another number. A dump that was restored into the same database
 * shows nowhere here. Servers that are only like PostgreSQL may not tell.
 */
export async function serverOf(client: pg.Client): Promise<string | null> {
  try {
    const { rows } = await client.query<{ server: string }>(
      `select concat_ws('/', (select system_identifier from pg_control_system()),
                             (select timeline_id from pg_control_checkpoint()),
                             (select oid from pg_database where datname = current_database())) as server`,
    )
    return rows[0]?.server ?? null
  } catch (error) {
    if (!cannotTell.has((error as { code?: string }).code ?? '')) throw error
    return null
  }
}

/** Not allowed, no such function, not supported. */
const cannotTell = new Set(['42501', '42883', '42P01', '42703', '0A000'])

/** A value past every row, by which the condition on the cursor is found in a plan; by the number of a type. */
const farAhead: Readonly<Record<number, string>> = {
  ...Object.fromEntries([1082, 1114, 1184].map((time) => [time, '9999-12-01'])),
  ...Object.fromEntries([20, 23, 700, 701, 1700].map((number) => [number, '1999912'])),
  21: '29912',
  ...Object.fromEntries([25, 1042, 1043].map((text) => [text, '~9912~'])),
}

/** The watermark to ask a plan for; null for a type of which none is known. */
export function markerOf(cursorType: number | undefined): string | null {
  return farAhead[cursorType ?? 0] ?? null
}

type Node = { Plans?: Node[]; 'Plan Rows'?: number; 'Total Cost'?: number } & Record<string, unknown>

/**
 * What the server would do with a statement. A small table is read whole although it has an index, so the index is
 * looked for with other ways priced out of the question: if it is not used even then, it is none that serves.
 *
 * @param whole reads all rows.
 * @param delta reads those past `marker`; null where that is not asked.
 */
export async function explainPostgres(
  client: pg.Client,
  whole: string,
  delta: { text: string; values: unknown[]; marker: string } | null,
): Promise<QueryPlan> {
  const plan = await explained(client, whole, [])
  const about = { rows: plan['Plan Rows'] ?? null, cost: plan['Total Cost'] ?? null }
  if (delta === null) return { ...about, indexed: null }
  let indexed = false
  for (const ways of dearWays) {
    for (const way of ways) await client.query(`set local ${way} = off`)
    indexed ||= searchesBy(await explained(client, delta.text, delta.values), delta.marker)
    for (const way of ways) await client.query(`set local ${way} to default`)
  }
  return { ...about, indexed }
}

/**
 * What is priced out of the question. Of a small table the server may also read another index from end to end, or look
 * its rows up one by one for those of a joined table; what is left then is a search by the condition itself.
 */
const dearWays = [
  ['enable_seqscan'],
  ['enable_seqscan', 'enable_indexscan', 'enable_indexonlyscan', 'enable_nestloop'],
] as const

async function explained(client: pg.Client, text: string, values: unknown[]): Promise<Node> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (format json) ${text}`, values)
  const [found] = JSON.parse(rows[0]?.['QUERY PLAN'] ?? '[]') as { Plan: Node }[]
  if (found === undefined) throw new Error('the server gave no plan')
  return found.Plan
}

/** Whether an index is searched by a condition that holds the marker. Pure. */
export function searchesBy(node: Node, marker: string): boolean {
  const condition = node['Index Cond']
  if (typeof condition === 'string' && condition.includes(marker)) return true
  return (node.Plans ?? []).some((inner) => searchesBy(inner, marker))
}
