import type { Database } from '../db/database.ts'
import { isKnownHotel, unknownHotelWords } from '../db/trace/trace-partner.ts'
import { Problem } from './problem.ts'

/**
 * For a request that found nothing: makes sure that the hotel which it names, if it names one, is in the ledger. An id
 * that is misspelt would look as if all were well with the hotel.
 * @throws {Problem} 404 when nothing was ever read of such a hotel.
 */
export async function requireKnownHotel(db: Database, partnerId: string | undefined): Promise<void> {
  if (partnerId === undefined || (await isKnownHotel(db, partnerId))) return
  throw unknownHotel(await unknownHotelWords(db, partnerId))
}

/** @param words of `unknownHotelWords`. */
export function unknownHotel(words: string): Problem {
  return new Problem(404, 'hotel_unknown', words)
}
