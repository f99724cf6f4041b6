import { sql } from 'kysely'
import type { PartnerOptions, PartnerSnapshot } from './dialect.ts'
import { PartnerDatabaseError } from './partner-errors.ts'
import { boundOf, inSession, inUtc, moved, type OldestTransaction, type ServerBound } from './server-session.ts'
import { ServerSnapshot } from './server-snapshot.ts'
import { sqlserverDialect } from './sqlserver-dialect.ts'
import { openSqlserverSession, type SqlserverSession } from './sqlserver-session.ts'

/**
 * One transaction of a SQL Server at the isolation level SNAPSHOT, which sees the moment of its first read. The server
 * knows no read-only transactions: a configured query can write nothing because it is put into another one, and cannot
 * end it (oneQuery).
 *
 * @throws {PartnerDatabaseError} `partner_snapshot_off` when the database does not allow it.
 */
export async function openSqlserverSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  return await inSession(options, openSqlserverSession, async (session) => {
    await requireSnapshots(session)
    const server = await serverOf(session)
    const bound = await oldestOpen(session)
    await session.beginSnapshot()
    return new ServerSnapshot(sqlserverDialect, session, { server, bound })
  })
}

/** Without it, streams would be read at different moments, and while others change them. */
async function requireSnapshots(session: SqlserverSession): Promise<void> {
  const { rows } = await session.ask(
    sql`select convert(varchar(10), snapshot_isolation_state), name from sys.databases where database_id = db_id()`,
  )
  const [state, name] = rows[0] ?? []
  if (state === '1') return
  throw new PartnerDatabaseError(
    'partner_snapshot_off',
    `The partner's database ${name ?? ''} does not allow the isolation level SNAPSHOT, without which streams would be read at different moments. Let its administrator run: alter database [${(name ?? '').replaceAll(']', ']]')}] set allow_snapshot_isolation on`,
  )
}

/** Refused without VIEW SERVER STATE, or VIEW SERVER PERFORMANCE STATE since 2022. */
const accessDenied = new Set([297, 300, 371])

/**
 * The start of the oldest transaction that may still write, or a tenth of a second ago; asked before the snapshot
 * begins. The server says starts by its own clock.
 */
async function oldestOpen(session: SqlserverSession): Promise<ServerBound> {
  const { rows } = await session.ask(
    sql`select convert(varchar(23), dateadd(millisecond, -100, sysutcdatetime()), 121),
               convert(varchar(20), datediff(second, getutcdate(), getdate()))`,
  )
  const [began = null, ahead = null] = rows[0] ?? []
  if (began === null || ahead === null) throw new Error('the server did not say what time it is')
  const { oldest, seesAll } = await oldestTransaction(session)
  return await boundOf(
    { began, oldest: oldest === null ? null : inUtc(oldest, Number(ahead)), seesAll },
    // Where a clock stood that was as far from UTC then as the server's is now.
    (moment) => moved(moment, Number(ahead) * 1000),
    () => isSecondary(session),
  )
}

/** A readable secondary lists its own transactions, and not those of the primary, which are the ones that write. */
async function isSecondary(session: SqlserverSession): Promise<boolean> {
  const { rows } = await session.ask(sql`select convert(varchar(20), databasepropertyex(db_name(), 'Updateability'))`)
  return rows[0]?.[0] === 'READ_ONLY'
}

/** The fork of recovery that the database is on, which a restore begins again; null where our role may not see it. */
async function serverOf(session: SqlserverSession): Promise<string | null> {
  try {
    const { rows } = await session.ask(
      sql`select lower(convert(varchar(36), recovery_fork_guid)) from sys.database_recovery_status
        where database_id = db_id()`,
    )
    return rows[0]?.[0] ?? null
  } catch (error) {
    const { number } = error as { number?: number }
    if (number === undefined || !(accessDenied.has(number) || number === invalidObject)) throw error
    return null
  }
}

/** Some editions leave the view out. */
const invalidObject = 208

async function oldestTransaction(session: SqlserverSession): Promise<OldestTransaction> {
  try {
    // Transactions that read and write, also distributed ones, in any state but committed and rolled back.
    const { rows } = await session.ask(
      sql`select convert(varchar(23), min(transaction_begin_time), 121) from sys.dm_tran_active_transactions
          where transaction_type in (1, 4) and transaction_state not in (6, 8)`,
    )
    return { oldest: rows[0]?.[0] ?? null, seesAll: true }
  } catch (error) {
    const { number } = error as { number?: number }
    if (number === undefined || !accessDenied.has(number)) throw error
    return { oldest: null, seesAll: false }
  }
}
