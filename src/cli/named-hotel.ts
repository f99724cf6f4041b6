import type { Database } from '../db/database.ts'
import { isKnownHotel, likePartnerIds } from '../db/trace/trace-partner.ts'
import { UsageError } from './cli.ts'

/**
 * For a verb that found nothing: makes sure that the hotel which its `--partner-id` names, if it names one, is in the
 * ledger. An id that is misspelt would look as if all were well with the hotel.
 * @throws {UsageError} when nothing was ever read of such a hotel.
 */
export async function requireHotel(db: Database, partnerId: string | undefined): Promise<void> {
  if (partnerId !== undefined && !(await isKnownHotel(db, partnerId))) throw await nobodyLike(db, partnerId)
}

/** That nothing was read of a hotel, with the ids that may have been meant. */
export async function nobodyLike(db: Database, partnerId: string): Promise<UsageError> {
  const { near, examples } = await likePartnerIds(db, partnerId)
  const head = `Nothing was ever read of a hotel '${partnerId}'.`
  if (near.length > 0) return new UsageError(`${head} Was ${near.join(' or ')} meant?`)
  if (examples.length === 0)
    return new UsageError(`${head} Nothing was read of any: nightferry run nightly-sync begins.`)
  return new UsageError(`${head} Ids are those of the partner's database, such as ${examples.join(', ')}`)
}
