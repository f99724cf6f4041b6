import { sql } from 'kysely'
import type { ProtectionLack } from '../db/tables/run-tables.ts'
import { inUtc } from './server-clock.ts'
import type { SqlserverSession } from './sqlserver-session.ts'

/** No row past `moment` (UTC) may move a watermark; `shown` is the earliest that a clock of the server showed then. */
export type SqlserverBound = { moment: string; shown: string; lacks: ProtectionLack | null }

/** Refused without VIEW SERVER STATE, or VIEW SERVER PERFORMANCE STATE since 2022. */
const accessDenied = new Set([297, 300, 371])

/**
 * The start of the oldest transaction that may still write, or a tenth of a second ago; asked before the snapshot
 * begins. The server says starts by its own clock.
 */
export async function oldestOpen(session: SqlserverSession): Promise<SqlserverBound> {
  const clocks = await session.ask(
    sql`select convert(varchar(23), dateadd(millisecond, -100, sysutcdatetime()), 121),
               convert(varchar(20), datediff(second, getutcdate(), getdate()))`,
  )
  const [now, ahead] = (clocks.rows[0] ?? []).map(({ value }) => String(value))
  if (now === undefined || ahead === undefined) throw new Error('the server did not say what time it is')
  const { oldest, seesAll } = await oldestTransaction(session)
  const began = oldest === null ? null : inUtc(oldest, Number(ahead))
  const moment = began !== null && began < now ? began : now
  // Where a clock stood that was as far from UTC then as the server's is now.
  const there = new Date(Date.parse(`${moment.replace(' ', 'T')}Z`) + Number(ahead) * 1000)
  const shown = there.toISOString().replace('T', ' ').replace('Z', '')
  const lacks = seesAll ? ((await isSecondary(session)) ? 'standby' : null) : 'privilege'
  return { moment, shown: shown < moment ? shown : moment, lacks }
}

/** A readable secondary lists its own transactions, and not those of the primary, which are the ones that write. */
async function isSecondary(session: SqlserverSession): Promise<boolean> {
  const { rows } = await session.ask(sql`select convert(varchar(20), databasepropertyex(db_name(), 'Updateability'))`)
  return rows[0]?.[0]?.value === 'READ_ONLY'
}

/** The fork of recovery that the database is on, which a restore begins again; null where our role may not see it. */
export async function serverOf(session: SqlserverSession): Promise<string | null> {
  try {
    const { rows } = await session.ask(
      sql`select lower(convert(varchar(36), recovery_fork_guid)) from sys.database_recovery_status
        where database_id = db_id()`,
    )
    const value = rows[0]?.[0]?.value
    return typeof value === 'string' ? value : null
  } catch (error) {
    const { number } = error as { number?: number }
    if (number === undefined || !(accessDenied.has(number) || number === invalidObject)) throw error
    return null
  }
}

/** Some editions leave the view out. */
const invalidObject = 208

async function oldestTransaction(session: SqlserverSession): Promise<{ oldest: string | null; seesAll: boolean }> {
  try {
    // Transactions that read and write, also distributed ones, in any state but committed and rolled back.
    const { rows } = await session.ask(
      sql`select convert(varchar(23), min(transaction_begin_time), 121) from sys.dm_tran_active_transactions
          where transaction_type in (1, 4) and transaction_state not in (6, 8)`,
    )
    const value = rows[0]?.[0]?.value
    return { oldest: typeof value === 'string' ? value : null, seesAll: true }
  } catch (error) {
    const { number } = error as { number?: number }
    if (number === undefined || !accessDenied.has(number)) throw error
    return { oldest: null, seesAll: false }
  }
}
