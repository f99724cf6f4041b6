import type { RawBuilder } from 'kysely'
import pg from 'pg'
import type { ServerSession } from './server-session.ts'

/** What our role could do beside reading. */
export type PartnerRights = {
  /** May do everything, whatever else is listed. */
  administrator: boolean
  /** What it could write or make, each as a person names it: at most `listedRights` of them. */
  writes: string[]
  /** How many there are in all. */
  count: number
  /** What was not looked at, as a clause; null if everything was. */
  untold: string | null
  /** Only of a file, which knows no roles: what the user of this process may do with it. */
  file?: FileRights
}

/** What of a SQLite file can be written: the file itself, and its folder. */
export type FileRights = {
  /** Its journal is a write-ahead log, beside which SQLite makes files to read it. */
  wal: boolean
  file: boolean
  folder: boolean
}

/** So many are named; of the others only the number is said. */
export const listedRights = 12

export type PartnerTable = {
  /** Null where the dialect has none. */
  schema: string | null
  name: string
  /** In the order of the table; types in the server's own words. */
  columns: readonly { name: string; type: string }[]
}

/** A look at the partner's database from outside its rows: who we are there, its clock, and what it holds. */
export type PartnerExamination = {
  /** The product and its version. */
  product: string
  rights(): Promise<PartnerRights>
  /** Milliseconds since 1970 by the server's clock; null where the clock is this machine's. */
  clock(): Promise<number | null>
  /** Tables and views that our role can read, by schema and name; first those of the schema that the session is in. */
  tables(): Promise<PartnerTable[]>
  close(): Promise<void>
}

/** Rights as they are told: all of them counted, the first few named. Pure. */
export function toldRights(
  writes: readonly string[],
  { administrator = false, untold = null }: Partial<Pick<PartnerRights, 'administrator' | 'untold'>> = {},
): PartnerRights {
  return { administrator, writes: writes.slice(0, listedRights), count: writes.length, untold }
}

/** Columns in the order of their tables, gathered by table. Pure. */
export function tablesOf(
  columns: readonly { schema: string | null; table: string; column: string; type: string }[],
): PartnerTable[] {
  const groups = Map.groupBy(columns, ({ schema, table }) => JSON.stringify([schema, table]))
  return [...groups.values()].flatMap((rows) => {
    const [first] = rows
    if (first === undefined) return []
    return [
      { schema: first.schema, name: first.table, columns: rows.map(({ column, type }) => ({ name: column, type })) },
    ]
  })
}

/**
 * A look by way of a session that only asks.
 * @param clock asks for the milliseconds since 1970.
 * @param columns asks for schema, table, name and type of every column.
 */
export function examinationIn<Session extends Pick<ServerSession<unknown, unknown>, 'ask' | 'close'>>(
  session: Session,
  asked: {
    product: string
    clock: RawBuilder<unknown>
    columns: RawBuilder<unknown>
    rightsOf: (session: Session) => Promise<PartnerRights>
  },
): PartnerExamination {
  return {
    product: asked.product,
    rights: () => asked.rightsOf(session),
    clock: async () => Number((await session.ask(asked.clock)).rows[0]?.[0]),
    tables: async () => {
      const { rows } = await session.ask(asked.columns)
      return tablesOf(
        rows.map(([schema = null, table, column, type]) => ({
          schema,
          table: table ?? '',
          column: column ?? '',
          type: type ?? '',
        })),
      )
    },
    close: () => session.close(),
  }
}

/** How an address of a database has its connection protected. */
export type Encryption = {
  /** Where the server is; null: a file or a socket of this machine. */
  host: string | null
  encrypted: boolean
}

/**
 * What the driver does with an address of PostgreSQL: without `sslmode` or its kin, and without `PGSSLMODE`, it
 * encrypts nothing. Nothing is connected.
 */
export function postgresEncryption(url: string): Encryption {
  const { host, ssl } = new pg.Client({ connectionString: url })
  return { host: host.startsWith('/') ? null : host, encrypted: Boolean(ssl) }
}
