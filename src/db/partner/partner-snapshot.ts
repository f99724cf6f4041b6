import pg from 'pg'
import Cursor from 'pg-cursor'

/** A query against the partner's database failed; `code` tells what a person has to look at. */
export class PartnerDatabaseError extends Error {
  readonly code: 'partner_unreachable' | 'partner_query_failed'

  constructor(code: PartnerDatabaseError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export type PartnerOptions = { url: string; statementTimeoutMs: number; connectTimeoutMs?: number }

export type DeltaQuery = {
  stream: string
  query: string
  columns: readonly string[]
  cursor: string
  /** Read rows at or past this cursor, as the server printed it; null: all rows. */
  from: string | null
  /** How far before `from` to begin when the cursor is a time, in milliseconds. */
  overlapMs: number
  fetchRows: number
}

/** Rows of a delta, each an array of texts in the order of `columns`, then the cursor. */
export type DeltaRows = AsyncIterable<(string | null)[][]>

/**
 * One read-only, repeatable-read view of the partner's database: every stream read through it sees the same moment.
 */
export type PartnerSnapshot = {
  /**
   * Asks the server what a query yields, and reads nothing.
   * @throws {PartnerDatabaseError} `partner_query_failed` when it is wrong or lacks a column.
   */
  check(delta: DeltaQuery): Promise<void>
  read(delta: DeltaQuery): DeltaRows
  close(): Promise<void>
}

const timeTypes = new Set([1082, 1114, 1184])
const textParser: pg.CustomTypesConfig = { getTypeParser: () => String as unknown as typeof pg.types.getTypeParser }

/**
 * Connects and begins the snapshot.
 * @throws {PartnerDatabaseError} `partner_unreachable`, naming host and database but never the password.
 */
export async function openPartnerSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  const client = clientOf(options.url, {
    application_name: 'nightferry extract',
    connectionTimeoutMillis: options.connectTimeoutMs ?? 15_000,
    statement_timeout: options.statementTimeoutMs,
    options: '-c datestyle=ISO -c default_transaction_read_only=on',
    keepAlive: true,
    types: textParser,
  })
  client.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    client.once('end', () => {
      resolve()
    })
  })
  let bound: Bound
  try {
    await client.connect()
    bound = await oldestOpen(client)
    await client.query(`set timezone = 'UTC'`)
    await client.query('begin isolation level repeatable read, read only')
  } catch (error) {
    await client.end().catch(() => {})
    throw unreachable(options.url, error)
  }
  return {
    check: async (delta) => {
      await deltaSql(client, bound, delta)
    },
    read: (delta) => readDelta(client, ended, bound, delta),
    close: async () => {
      await client.end().catch(() => {})
    },
  }
}

/** The driver reads the URL here, and throws what it thinks of it. */
function clientOf(url: string, settings: pg.ClientConfig): pg.Client {
  try {
    return new pg.Client({ ...settings, connectionString: url })
  } catch (error) {
    throw unreachable(url, error)
  }
}

function unreachable(url: string, error: unknown): PartnerDatabaseError {
  return new PartnerDatabaseError(
    'partner_unreachable',
    `The partner's database at ${placeOf(url)} cannot be read: ${reasonOf(error)}. Check partner.url (PARTNER_DATABASE_URL), and that its server is up.`,
    { cause: error },
  )
}

/** No row past this moment may move a watermark; `zone` is where the server's clocks without a time zone stand. */
type Bound = { moment: string; zone: string }

/**
 * The start of the oldest transaction that is open in the partner's database now, or now, as the server prints it. Now
 * is when the question was asked: a transaction may begin while it is answered.
 * Transactions of other roles show their start only to members of pg_read_all_stats; for the rest there is the overlap.
 */
async function oldestOpen(client: pg.Client): Promise<Bound> {
  const { rows } = await client.query<Bound>(
    `select least(statement_timestamp(), min(xact_start))::text as moment, current_setting('TimeZone') as zone
     from (select xact_start from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
           union all
           select prepared from pg_prepared_xacts where database = current_database()) open_transaction`,
  )
  const bound = rows[0]
  if (bound === undefined) throw new Error('the server did not say what time it is')
  return bound
}

async function* readDelta(client: pg.Client, ended: Promise<void>, bound: Bound, delta: DeltaQuery): DeltaRows {
  const cursor = client.query(
    new Cursor(await deltaSql(client, bound, delta), delta.from === null ? [] : [delta.from], { rowMode: 'array' }),
  )
  try {
    for (;;) {
      const rows = (await cursor.read(delta.fetchRows)) as (string | null)[][]
      if (rows.length === 0) return
      yield rows
    }
  } catch (error) {
    throw queryFailed(delta, error)
  } finally {
    // Closing waits for an answer of the server, which a connection that broke off never brings.
    await Promise.race([cursor.close().catch(() => {}), ended])
  }
}

/** The configured query, wrapped: its columns as text, in cursor order, from the watermark on; rows without a cursor are always read. */
async function deltaSql(client: pg.Client, bound: Bound, delta: DeltaQuery): Promise<string> {
  const fields = await describe(client, delta)
  const cursorType = fields.get(delta.cursor)
  const missing = [...delta.columns, delta.cursor].filter((column) => !fields.has(column))
  if (missing.length > 0 || cursorType === undefined) {
    throw new PartnerDatabaseError(
      'partner_query_failed',
      `The query of the stream ${delta.stream} does not yield ${missing.join(', ')}; it yields ${[...fields.keys()].join(', ')}. Mend streams.${delta.stream}.query.`,
    )
  }
  const id = (name: string) => pg.escapeIdentifier(name)
  const columns = delta.columns.map((column) => `s.${id(column)}::text`).join(', ')
  // A transaction that is still open may commit rows that carry the time at which it began, and a time that lies ahead
  // may be anything: neither may carry the watermark past what was not seen.
  const type = pgTypeNames[cursorType]
  const moment = `${pg.escapeLiteral(bound.moment)}::timestamptz`
  // A time without a zone is what clocks showed at the partner, which may stand at UTC or behind it.
  const shown = `least(${moment} at time zone 'UTC', ${moment} at time zone ${pg.escapeLiteral(bound.zone)})`
  const newest = type === 'timestamptz' ? moment : `${shown}::${type}`
  const at = `s.${id(delta.cursor)}`
  const cursor = type === undefined ? at : `case when ${at} > ${newest} then ${newest} else ${at} end`
  const lowest = timeTypes.has(cursorType) ? `$1 - interval '${Math.trunc(delta.overlapMs)} milliseconds'` : '$1'
  const typed = lowest.replace('$1', `$1::${pgTypeNames[cursorType] ?? 'text'}`)
  const lower = pgTypeNames[cursorType] === undefined ? '$1' : typed
  const past = delta.from === null ? '' : ` where s.${id(delta.cursor)} >= ${lower} or s.${id(delta.cursor)} is null`
  return `select ${columns}, ${cursor}::text from (${withoutSemicolon(delta.query)}\n) s${past} order by s.${id(delta.cursor)} nulls first`
}

/** Types whose arithmetic with an interval needs the parameter's type said; any other is inferred by the server. */
const pgTypeNames: Record<number, string> = { 1082: 'date', 1114: 'timestamp', 1184: 'timestamptz' }

async function describe(client: pg.Client, delta: DeltaQuery): Promise<Map<string, number>> {
  try {
    const { fields } = await client.query(`select * from (${withoutSemicolon(delta.query)}\n) s limit 0`)
    return new Map(fields.map((field) => [field.name, field.dataTypeID]))
  } catch (error) {
    throw queryFailed(delta, error)
  }
}

function withoutSemicolon(query: string): string {
  return query.trim().replace(/;$/, '')
}

function queryFailed(delta: DeltaQuery, error: unknown): PartnerDatabaseError {
  if (error instanceof PartnerDatabaseError) return error
  const lost = !(error instanceof pg.DatabaseError) || error.code?.startsWith('57') || error.code?.startsWith('08')
  return new PartnerDatabaseError(
    lost ? 'partner_unreachable' : 'partner_query_failed',
    lost
      ? `The partner's database broke off while the stream ${delta.stream} was read: ${reasonOf(error)}. Nothing of this read was kept; run again.`
      : `The query of the stream ${delta.stream} failed: ${reasonOf(error)}. Mend streams.${delta.stream}.query.`,
    { cause: error },
  )
}

function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'an address that is no URL'
  const { host, pathname } = new URL(url)
  // A slash in a password that is not written as %2F ends the host, and the password stands in the path.
  return pathname.includes('@')
    ? 'an address whose user or password holds a slash that is not written as %2F'
    : `${host}${pathname}`
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return message && message !== '' ? message : (code ?? 'no reason given')
}
