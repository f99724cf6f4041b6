import { hostname, userInfo } from 'node:os'
import type { Config } from '../config/schema.ts'
import type { Actor } from '../db/actions/record-action.ts'
import { storableText } from '../db/copy-text.ts'
import type { Database } from '../db/database.ts'
import { type Cli, type CommonOptions, UsageError } from './cli.ts'
import { type OpenDatabase, openDatabase } from './open-database.ts'
import { readConfig } from './read-config.ts'
import { toItsEnd, untilSignal } from './whole-process.ts'

/**
 * Opens the configured database for a verb, and closes it however the verb ends. The schema must be the newest.
 * A verb that only looks ends at once when a signal to end comes, and what it asked ends at the server: closing cuts
 * its connections. One that changes something is waited for, so that the person learns what became of it.
 * @param access `write` for a verb that does more than look.
 * @throws {SchemaMismatch} when the schema is another one.
 * @throws the signal's reason, when it came while a verb looked.
 */
export async function withDatabase<T>(
  cli: Cli,
  options: CommonOptions,
  work: (database: OpenDatabase, config: Config) => Promise<T>,
  access: 'read' | 'write' = 'read',
): Promise<T> {
  const config = readConfig(cli, options)
  const database = await openDatabase(cli, config, { access })
  try {
    const working = work(database, config)
    return await (access === 'read' ? untilSignal(cli, working) : toItsEnd(working))
  } finally {
    await database.close()
  }
}

/** Who acts, for the table of actions: the user of the operating system, and behind sudo the one who called it. */
export function actingUser({ environment }: Cli): Actor {
  const behind = environment.SUDO_USER
  const user = behind === undefined || behind === '' ? userName() : `${userName()} (sudo by ${behind})`
  return { user: storableText(user), host: hostname() }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that no user has.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/**
 * For a verb that found nothing: makes sure that the hotel which its `--partner-id` names, if it names one, is in the
 * ledger. An id that is misspelt would look as if all were well with the hotel.
 * @throws {UsageError} when nothing was ever read of such a hotel.
 */
export async function requireHotel(db: Database, partnerId: string | undefined): Promise<void> {
  if (partnerId === undefined) return
  const { isKnownHotel } = await import('../db/trace/trace-partner.ts')
  if (!(await isKnownHotel(db, partnerId))) throw await nobodyLike(db, partnerId)
}

/** That nothing was read of a hotel, with the ids that may have been meant. */
export async function nobodyLike(db: Database, partnerId: string): Promise<UsageError> {
  const { unknownHotelWords } = await import('../db/trace/trace-partner.ts')
  return new UsageError(await unknownHotelWords(db, partnerId))
}

/** That no hotel is mapped to a company. The partner's ids may have that form too: one that is like it comes first. */
export async function nobodyMapped(db: Database, companyId: string, text: string): Promise<UsageError> {
  const { likePartnerIds, unknownHotelWords } = await import('../db/trace/trace-partner.ts')
  const { near } = await likePartnerIds(db, text)
  if (near.length > 0) return new UsageError(await unknownHotelWords(db, text, near))
  return new UsageError(`No hotel is mapped to the company ${companyId}, and none has this id in your database.`)
}
