import { type RawBuilder, sql } from 'kysely'
import { copyLines } from '../db/copy-text.ts'
import {
  allInOrder,
  type CursorQuery,
  type DeltaQuery,
  type DeltaRows,
  type PartnerSnapshot,
  type QueryPlan,
  type StreamQuery,
  withoutSemicolon,
} from './dialect.ts'
import { type ErrorKinds, readFailed, requireColumns } from './partner-errors.ts'
import type { ServerBound, ServerSession } from './server-session.ts'

type Sql = RawBuilder<unknown>

/** What one server does otherwise than another. `Column` is what has to be known of a column to read it. */
export type ServerDialect<Field extends { name: string }, Column extends { kind: string }, Value> = {
  /** @throws {PartnerDatabaseError} for a type whose values have no one text. */
  columnOf(stream: string, field: Field): Column
  /** What a column is taken for that was not described. */
  undescribed: Column
  /** Whether its values are dates or times: only of these can be said which an open transaction may still commit. */
  isTime(column: Column): boolean

  /** A configured query as it may stand in parentheses. @throws {PartnerDatabaseError} when it would end them. */
  alone(stream: string, query: string): string
  /** Asks for all columns and no row. */
  noRow(from: Sql): Sql
  /** Asks for one row, if there is any. */
  anyRow(from: Sql): Sql
  literal(text: string): Sql

  /** A column as `textOf` takes it without loss. */
  printed(at: Sql, column: Column): Sql
  textOf(stream: string, name: string, column: Column, value: Value): string | null
  /** A column as `textOf` gives it; null where SQL cannot say. */
  asText(at: Sql, column: Column): Sql | null

  /** A cursor so that it sorts and compares by one rule. */
  cursorOf(at: Sql, column: Column): Sql
  /** What `cursorOf` gave, as `textOf` takes it without loss. */
  printedCursor(cursor: Sql, column: Column): Sql
  /** A watermark as a value of its cursor's type. */
  watermarkValue(text: string, column: Column): Sql
  /** Whether a watermark of another type becomes null, where other servers refuse it. */
  mayLoseWatermark: boolean
  /** A time less some milliseconds, as a value of its type: a day is read again if a moment of it is. */
  earlier(time: Sql, ms: number, column: Column): Sql
  /** The bound as a value of a cursor's type: a time without a zone is what clocks showed at the partner. */
  newest(bound: ServerBound, column: Column): Sql

  explain(session: ServerSession<Field, Value>, asked: PlanQuestion): Promise<QueryPlan>
  readonly errors: ErrorKinds
}

/** A query, and what reads all of its rows, and those past a watermark; `past` is null without a cursor. */
export type PlanQuestion = { query: string; cursor: string | null; whole: Sql; past: Sql | null }

/**
 * A snapshot that a session has begun and sees until it is closed. The configured queries are put into statements of
 * ours, which ask for every column as its type has to be asked for.
 */
export class ServerSnapshot<Field extends { name: string }, Column extends { kind: string }, Value>
  implements PartnerSnapshot
{
  readonly server: string | null
  readonly lacks: PartnerSnapshot['lacks']
  readonly openMs: number
  readonly clock: PartnerSnapshot['clock']
  readonly #dialect: ServerDialect<Field, Column, Value>
  readonly #session: ServerSession<Field, Value>
  readonly #bound: ServerBound

  constructor(
    dialect: ServerDialect<Field, Column, Value>,
    session: ServerSession<Field, Value>,
    { server, bound }: { server: string | null; bound: ServerBound },
  ) {
    this.server = server
    this.lacks = bound.lacks
    this.openMs = bound.openMs
    this.clock = bound.clock
    this.#dialect = dialect
    this.#session = session
    this.#bound = bound
  }

  // Fields and no methods: each may be handed on without its snapshot, as in the other dialects.
  readonly cursorType: PartnerSnapshot['cursorType'] = async (query) =>
    (await this.#describe(query)).get(query.cursor)?.kind ?? null

  readonly check: PartnerSnapshot['check'] = async (query) => {
    const columns = await this.#describe(query)
    if (query.cursor === null) return null
    if (!this.#dialect.isTime(this.#column(columns, query.cursor))) return 'none'
    return this.lacks === null ? 'transactions' : 'overlap'
  }

  readonly explain: PartnerSnapshot['explain'] = async (query) => {
    const columns = await this.#describe(query)
    const { stream, cursor } = query
    const past = cursor === null ? null : this.#deltaSql(columns, this.#farAhead(columns, { ...query, cursor }))
    const asked = { query: this.#alone(query), cursor, whole: this.#wholeSql(columns, query), past }
    return await this.#failing(stream, this.#dialect.explain(this.#session, asked))
  }

  readonly delta: PartnerSnapshot['delta'] = (delta) => this.#readDelta(delta)

  readonly all: PartnerSnapshot['all'] = (query) => allInOrder(this, query)

  readonly lines: PartnerSnapshot['lines'] = (query) => this.#readLines(query)

  readonly hasRows: PartnerSnapshot['hasRows'] = async (query) => {
    const from = this.#derived(query)
    const { rows } = await this.#failing(query.stream, this.#session.ask(this.#dialect.anyRow(from)))
    return rows.length > 0
  }

  readonly close: PartnerSnapshot['close'] = () => this.#session.close()

  async #describe(query: StreamQuery & { cursor: string | null }): Promise<ReadonlyMap<string, Column>> {
    const { stream, columns, cursor } = query
    const from = this.#derived(query)
    const { fields } = await this.#failing(stream, this.#session.ask(this.#dialect.noRow(from)))
    const wanted = cursor === null ? columns : [...columns, cursor]
    requireColumns(
      stream,
      wanted,
      fields.map(({ name }) => name),
    )
    const used = fields.filter(({ name }) => wanted.includes(name))
    return new Map(used.map((field) => [field.name, this.#dialect.columnOf(stream, field)]))
  }

  #column(columns: ReadonlyMap<string, Column>, name: string): Column {
    return columns.get(name) ?? this.#dialect.undescribed
  }

  async *#readDelta(delta: DeltaQuery): DeltaRows {
    const columns = await this.#describe(delta)
    const isTime = this.#dialect.isTime(this.#column(columns, delta.cursor))
    const names = [...delta.columns, delta.cursor, ...(isTime ? [delta.cursor] : [])]
    yield* this.#readTexts(delta, columns, names, this.#deltaSql(columns, delta))
  }

  async *#readLines(query: StreamQuery): AsyncGenerator<Buffer> {
    const columns = await this.#describe({ ...query, cursor: null })
    for await (const rows of this.#readTexts(query, columns, query.columns, this.#wholeSql(columns, query))) {
      yield copyLines(rows)
    }
  }

  async *#readTexts(
    { stream, fetchRows }: StreamQuery,
    columns: ReadonlyMap<string, Column>,
    names: readonly string[],
    statement: Sql,
  ): DeltaRows {
    const texts = names.map((name) => {
      const column = this.#column(columns, name)
      return (value: Value) => this.#dialect.textOf(stream, name, column, value)
    })
    try {
      for await (const rows of this.#session.read(statement, fetchRows)) {
        yield rows.map((row) => row.map((value, index) => texts[index]?.(value) ?? null))
      }
    } catch (error) {
      throw readFailed(stream, error, this.#dialect.errors)
    }
  }

  #wholeSql(columns: ReadonlyMap<string, Column>, query: StreamQuery): Sql {
    return sql`select ${this.#selection(columns, query)} from ${this.#derived(query)}`
  }

  /**
   * The configured query, wrapped: its columns, in cursor order, from the watermark on; rows without a cursor are
   * always read. Of a time also the cursor itself, where it may not carry the watermark.
   */
  #deltaSql(columns: ReadonlyMap<string, Column>, delta: DeltaQuery): Sql {
    const dialect = this.#dialect
    const column = this.#column(columns, delta.cursor)
    const at = dialect.cursorOf(sql.id('s', delta.cursor), column)
    const shown = [at]
    if (dialect.isTime(column)) {
      // A transaction that is still open may commit rows that carry the time at which it began, and a time that lies
      // ahead may be anything: neither may carry the watermark past what was not seen.
      const newest = dialect.newest(this.#bound, column)
      shown[0] = sql`case when ${at} > ${newest} then ${newest} else ${at} end`
      // Both are compared as texts, and a server prints the decimals of a type: the second branch gives them one type.
      shown.push(sql`case when ${at} > ${newest} then ${at} when 1 = 0 then ${newest} end`)
    }
    const which = delta.only === undefined ? this.#pastSql(at, column, delta) : this.#onlySql(columns, delta.only)
    const cursors = sql.join(shown.map((cursor) => dialect.printedCursor(cursor, column)))
    return sql`select ${this.#selection(columns, delta)}, ${cursors}
      from ${this.#derived(delta)}${which} order by ${at}`
  }

  #pastSql(at: Sql, column: Column, { from, overlapMs }: DeltaQuery): Sql {
    const dialect = this.#dialect
    if (from === null) return sql``
    const watermark = dialect.watermarkValue(from, column)
    const lower = dialect.isTime(column) ? dialect.earlier(watermark, Math.trunc(overlapMs), column) : watermark
    // A watermark of another type says nothing of these values: then everything is read.
    const lost = dialect.mayLoseWatermark ? sql` or ${lower} is null` : sql``
    return sql` where ${at} >= ${lower} or ${at} is null${lost}`
  }

  /** Collations may take more for equal than we do: rows of other hotels come along, and are left out afterwards. */
  #onlySql(columns: ReadonlyMap<string, Column>, { column, partnerIds }: NonNullable<DeltaQuery['only']>): Sql {
    const id = sql.id('s', column)
    const text = this.#dialect.asText(id, this.#column(columns, column))
    if (text === null) return sql``
    const ids = sql.join(partnerIds.map((partnerId) => this.#dialect.literal(partnerId)))
    return sql` where ${text} in (${ids})${partnerIds.includes('') ? sql` or ${id} is null` : sql``}`
  }

  /** The rows past a watermark that no row has passed, so that its condition alone shows in a plan. */
  #farAhead(columns: ReadonlyMap<string, Column>, query: CursorQuery): DeltaQuery {
    const isTime = this.#dialect.isTime(this.#column(columns, query.cursor))
    return { ...query, from: isTime ? '9999-12-01' : '1999912', overlapMs: 0 }
  }

  #selection(columns: ReadonlyMap<string, Column>, query: StreamQuery): Sql {
    return sql.join(query.columns.map((name) => this.#dialect.printed(sql.id('s', name), this.#column(columns, name))))
  }

  /** Around a configured query, so that it can be nothing but a query. */
  #derived(query: StreamQuery): Sql {
    return sql`(${sql.raw(this.#alone(query))}\n) s`
  }

  #alone({ stream, query }: StreamQuery): string {
    return this.#dialect.alone(stream, withoutSemicolon(query))
  }

  async #failing<T>(stream: string, work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw readFailed(stream, error, this.#dialect.errors)
    }
  }
}
