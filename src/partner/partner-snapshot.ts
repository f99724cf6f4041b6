import type { PartnerOptions, PartnerSnapshot } from './dialect.ts'
import { type Encryption, type PartnerExamination, postgresEncryption } from './examination.ts'
import { openPostgresSnapshot } from './postgres-snapshot.ts'

/**
 * Opens the partner's database and begins the snapshot, in the dialect that its URL names.
 * @throws {PartnerDatabaseError} `partner_unreachable`, naming the place but never the password;
 *   `partner_driver_missing`, `partner_snapshot_off`, `partner_too_old`.
 */
export async function openPartnerSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  const { snapshot } = await dialectOf(options)
  return await snapshot(options)
}

/**
 * Connects to the partner's database to look at it, in the dialect that its URL names. Nothing there is changed.
 * @throws {PartnerDatabaseError} as `openPartnerSnapshot` does.
 */
export async function examinePartner(options: PartnerOptions): Promise<PartnerExamination> {
  const { examine } = await dialectOf(options)
  return await examine(options)
}

/**
 * How an address has the connection to the partner's database protected. Nothing is connected.
 * @throws {Error} with a reason that holds no password, where the address cannot be used.
 */
export async function partnerEncryption(url: string): Promise<Encryption> {
  const { encryption } = await dialectOf({ url })
  return await encryption(url)
}

/**
 * Loads what reads a partner's database, for a process that lives long: once another version was installed under it,
 * it finds none of its own files any more. By the very `import` that is needed later: Node.js looks for the file again
 * where another one asks for it. What cannot be loaded is told where it is needed.
 */
export async function loadDialect(options: Pick<PartnerOptions, 'url'>): Promise<void> {
  await dialectOf(options).catch(() => {})
}

type Dialect = {
  snapshot: (options: PartnerOptions) => Promise<PartnerSnapshot>
  examine: (options: PartnerOptions) => Promise<PartnerExamination>
  encryption: (url: string) => Encryption | Promise<Encryption>
}

/**
 * Loaded when it is needed: not every Node.js that runs the rest has node:sqlite without a warning, and few partners
 * have another server than PostgreSQL.
 */
async function dialectOf(options: Pick<PartnerOptions, 'url'>): Promise<Dialect> {
  switch (schemeOf(options)) {
    case 'file': {
      const { openSqliteSnapshot } = await import('./sqlite-snapshot.ts')
      const { examineSqlite } = await import('./sqlite-file.ts')
      return {
        snapshot: openSqliteSnapshot,
        examine: examineSqlite,
        encryption: () => ({ host: null, encrypted: false }),
      }
    }
    case 'mysql':
    case 'mariadb': {
      const { openMysqlSnapshot } = await import('./mysql-snapshot.ts')
      const { examineMysql, mysqlEncryption } = await import('./mysql-session.ts')
      return { snapshot: openMysqlSnapshot, examine: examineMysql, encryption: mysqlEncryption }
    }
    case 'sqlserver':
    case 'mssql': {
      const { openSqlserverSnapshot } = await import('./sqlserver-snapshot.ts')
      const { examineSqlserver, sqlserverEncryption } = await import('./sqlserver-session.ts')
      return { snapshot: openSqlserverSnapshot, examine: examineSqlserver, encryption: sqlserverEncryption }
    }
    default: {
      const { examinePostgres } = await import('./postgres-examination.ts')
      return { snapshot: openPostgresSnapshot, examine: examinePostgres, encryption: postgresEncryption }
    }
  }
}

/** Whether the partner's database is a file: while a statement on it works, this process does nothing else. */
export function isFile(options: Pick<PartnerOptions, 'url'>): boolean {
  return schemeOf(options) === 'file'
}

function schemeOf({ url }: Pick<PartnerOptions, 'url'>): string {
  return url.slice(0, url.indexOf(':')).toLowerCase()
}
