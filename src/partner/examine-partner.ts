import type { PartnerOptions } from './dialect.ts'
import type { PartnerExamination } from './examination.ts'

/**
 * Connects to the partner's database to look at it, in the dialect that its URL names. Nothing there is changed.
 * @throws {PartnerDatabaseError} as `openPartnerSnapshot` does.
 */
export async function examinePartner(options: PartnerOptions): Promise<PartnerExamination> {
  switch (options.url.slice(0, options.url.indexOf(':')).toLowerCase()) {
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
