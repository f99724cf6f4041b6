import type { PartnerOptions, PartnerSnapshot } from './dialect.ts'
import { openPostgresSnapshot } from './postgres-snapshot.ts'

/**
 * Opens the partner's database and begins the snapshot, in the dialect that its URL names.
 * @throws {PartnerDatabaseError} `partner_unreachable`, naming the place but never the password.
 */
export async function openPartnerSnapshot(options: PartnerOptions): Promise<PartnerSnapshot> {
  if (!options.url.startsWith('file:')) return await openPostgresSnapshot(options)
  // Loaded when it is needed: not every Node.js that runs the rest has it without a warning.
  const { openSqliteSnapshot } = await import('./sqlite-snapshot.ts')
  return await openSqliteSnapshot(options)
}
