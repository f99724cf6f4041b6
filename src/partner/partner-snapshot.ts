import type { PartnerOptions, PartnerSnapshot } from './dialect.ts'
import type { PartnerExamination } from './examination.ts'
import { openPostgresSnapshot } from './postgres-snapshot.ts'

/**
 * Opens the partner's database and begins the snapshot, in the dialect that its URL names.
 * @throws {PartnerDatabaseError} `partner_unreachable`, naming the place but never the password;
 *   `partner_driver_missing`, `partner_snapshot_off`.
 */
export async function openPartnerSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  // Loaded when it is needed: not every Node.js that runs the rest has node:sqlite without a warning, and few partners
  // have another server than PostgreSQL.
  switch (schemeOf(options)) {
    case 'file': {
      const { openSqliteSnapshot } = await import('./sqlite-snapshot.ts')
      return await openSqliteSnapshot(options)
    }
    case 'mysql':
    case 'mariadb': {
      const { openMysqlSnapshot } = await import('./mysql-snapshot.ts')
      return await openMysqlSnapshot(options)
    }
    case 'sqlserver':
    case 'mssql': {
      const { openSqlserverSnapshot } = await import('./sqlserver-snapshot.ts')
      return await openSqlserverSnapshot(options)
    }
    default:
      return await openPostgresSnapshot(options)
  }
}

/**
 * Connects to the partner's database to look at it, in the dialect that its URL names. Nothing there is changed.
 * @throws {PartnerDatabaseError} as `openPartnerSnapshot` does.
 */
export async function examinePartner(options: PartnerOptions): Promise<PartnerExamination> {
  switch (schemeOf(options)) {
    case 'file':
      return await (await import('./sqlite-snapshot.ts')).examineSqlite(options)
    case 'mysql':
    case 'mariadb':
      return await (await import('./mysql-session.ts')).examineMysql(options)
    case 'sqlserver':
    case 'mssql':
      return await (await import('./sqlserver-session.ts')).examineSqlserver(options)
    default:
      return await (await import('./postgres-examination.ts')).examinePostgres(options)
  }
}

function schemeOf({ url }: PartnerOptions): string {
  return url.slice(0, url.indexOf(':')).toLowerCase()
}
