import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import { createDatabase, createPool, type Database } from '../db/database.ts'
import { schemaName } from '../db/schema-standing.ts'
import { whyUnreachable } from '../partner/server-address.ts'
import { NotMadeYet, type OwnDatabase } from './ward.ts'

const missingDatabase = '3D000'

/**
 * Opens Nightferry's own database to read, whatever schema it has.
 * @param embedded the name of the database, if the server is the embedded one.
 * @throws {NotMadeYet} when the embedded server has no such database.
 * @throws {Error} naming host and database but never the password.
 */
export async function openOwnDatabase(
  url: string,
  embedded: string | null,
  limits: { connectTimeoutMs: number; statementTimeoutMs: number },
  made: AsyncDisposableStack,
): Promise<Omit<OwnDatabase, 'connectionsNeeded'>> {
  const pool = createPool(url, {
    max: 2,
    applicationName: 'nightferry doctor',
    searchPath: schemaName,
    onIdleError: () => {},
    readOnly: true,
    ...limits,
  })
  made.defer(() => pool.end())
  const db = createDatabase(pool)
  try {
    await sql`select 1`.execute(db)
  } catch (error) {
    if (embedded !== null && (error as { code?: unknown }).code === missingDatabase) {
      throw new NotMadeYet(`The embedded server has no database ${embedded} yet`)
    }
    const { place, reason } = whyUnreachable(url, error)
    throw new Error(`Nightferry's database at ${place} cannot be reached: ${reason}`, { cause: error })
  }
  return { db, dataFolder: await localDataFolder(url, db) }
}

/** Where a server on this machine keeps its data, if it tells and we may see the folder. */
async function localDataFolder(url: string, db: Database): Promise<string | null> {
  if (!URL.canParse(url) || !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])?$/.test(new URL(url).hostname)) return null
  try {
    const { rows } = await sql<{ folder: string }>`select current_setting('data_directory') as folder`.execute(db)
    const folder = rows[0]?.folder
    return folder !== undefined && existsSync(folder) ? folder : null
  } catch {
    // Only some roles may ask: then the disk counts as unseen.
    return null
  }
}
