import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { PartnerOptions, PartnerSnapshot } from './dialect.ts'
import { mysqlDialect, textLiteral } from './mysql-dialect.ts'
import { type MysqlSession, openMysqlSession } from './mysql-session.ts'
import { boundOf, inUtc, type OldestTransaction, type ServerBound } from './server-bound.ts'
import { inSession } from './server-session.ts'
import { ServerSnapshot } from './server-snapshot.ts'

/** One read-only transaction of a MySQL or MariaDB server with a consistent snapshot of its InnoDB tables. */
export async function openMysqlSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  return await inSession(options, openMysqlSession, async (session) => {
    const bound = await begin(session, options.statementTimeoutMs)
    // A server's own id says nothing of a restore, and changes with every node of a cluster.
    return new ServerSnapshot(mysqlDialect, session, { server: null, bound })
  })
}

/** How long the server may wait for us: between two streams, or while rows of one are being stored. Seconds: a day. */
const patience = 86_400

async function begin(session: MysqlSession, statementTimeoutMs: number): Promise<ServerBound> {
  const { rows } = await session.ask(sql`select @@session.time_zone, version()`)
  const [zone = null, version = null] = rows[0] ?? []
  // With the collation that literals of this character set have by themselves, ours and those of a configured query.
  await session.ask(sql`set names utf8mb4`)
  await session.ask(
    sql`set session time_zone = '+00:00', session net_write_timeout = ${sql.lit(patience)},
      session wait_timeout = ${sql.lit(patience)}`,
  )
  const bound = await oldestOpen(session, zone ?? 'SYSTEM')
  // Set afterwards: nothing of ours is as slow as a configured query may be.
  if (version?.includes('MariaDB')) {
    await session.ask(
      sql`set session max_statement_time = ${sql.lit(statementTimeoutMs / 1000)}, session idle_transaction_timeout = 0,
        session idle_readonly_transaction_timeout = 0`,
    )
  } else {
    await session.ask(sql`set session max_execution_time = ${sql.lit(statementTimeoutMs)}`)
  }
  await session.ask(sql`set session transaction isolation level repeatable read, read only`)
  await session.ask(sql`start transaction with consistent snapshot, read only`)
  return bound
}

/**
 * The start of the oldest transaction that may still write, or of the oldest statement at work, or a tenth of a second
 * ago; asked before the snapshot is taken, in a session that stands at UTC. A row that the snapshot does not show
 * was written by one of these or by a later one. Without the privilege PROCESS the server shows only ourselves,
 * and a replica does not show what is open at its primary.
 *
 * The order matters: a statement that ended before the first list was made has its transaction in the second.
 *
 * @param zone where the session's clock stood before it was set to UTC.
 */
async function oldestOpen(session: MysqlSession, zone: string): Promise<ServerBound> {
  const statements = await session.ask(
    sql`select cast(min(began) as char) from (
          select utc_timestamp(6) - interval 100000 microsecond as began
          union all
          select utc_timestamp(6) - interval (greatest(time, 0) + 1) second
          from information_schema.processlist where command in ('Query', 'Execute') and id <> connection_id()) s`,
  )
  const began = statements.rows[0]?.[0]
  if (typeof began !== 'string') throw new Error('the server did not say what time it is')
  const shownAt = async (moment: string) => {
    const { rows } = await session.ask(
      sql`select cast(convert_tz(cast(${textLiteral(moment)} as datetime(6)), '+00:00', ${textLiteral(zone)}) as char)`,
    )
    const there = rows[0]?.[0]
    if (typeof there !== 'string') throw new Error(`the server does not know its own time zone ${zone}`)
    return there
  }
  return await boundOf({ began, ...(await oldestTransaction(session)) }, shownAt, () => isReplica(session))
}

/**
 * Whether rows arrive by replication: threads of the user `system user` apply them, or nobody else may write. Either
 * may be wrong of a server that has several sources or is frozen; the overlap protects then, which harms nothing.
 */
async function isReplica(session: MysqlSession): Promise<boolean> {
  const { rows } = await session.ask(
    sql`select cast(@@global.read_only as char),
               cast((select count(*) from information_schema.processlist
                     where user = 'system user' and command <> 'Daemon') as char)`,
  )
  const [readOnly = '0', appliers = '0'] = rows[0] ?? []
  return !['0', 'OFF'].includes(readOnly ?? '0') || appliers !== '0'
}

/** The list of transactions is renewed at most every tenth of a second, and not while others ask for it more often. */
const listTries = 50
const listPauseMs = 110

/** Refused without the privilege PROCESS. */
const accessDenied = 1227

/**
 * The list says starts in the server's own time zone, to the second. A transaction of ours in it shows how far that is
 * from UTC, and that the list is not older than it.
 */
async function oldestTransaction(session: MysqlSession): Promise<OldestTransaction> {
  await session.ask(sql`start transaction with consistent snapshot, read only`)
  try {
    for (let tries = 0; tries < listTries; tries++) {
      const { rows } = await session.ask(
        sql`select cast(timestampdiff(second, utc_timestamp(), max(case when mine then trx_started end)) as char),
                   cast(min(case when trx_is_read_only = 0 then trx_started end) as char)
            from (select trx_started, trx_is_read_only, trx_mysql_thread_id = connection_id() as mine
                  from information_schema.innodb_trx) t`,
      )
      const [ahead = null, oldest = null] = rows[0] ?? []
      if (ahead !== null) return { oldest: oldest === null ? null : inUtc(oldest, Number(ahead)), seesAll: true }
      await delay(listPauseMs)
    }
  } catch (error) {
    if ((error as { errno?: number }).errno !== accessDenied) throw error
  } finally {
    await session.ask(sql`rollback`)
  }
  return { oldest: null, seesAll: false }
}
