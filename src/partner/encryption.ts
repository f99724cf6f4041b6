import pg from 'pg'

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
