import type { Bench } from '../bench.ts'
import { findHotel } from '../evidence/hotel.ts'
import { eventsOfTasks, type SeenEvent } from '../evidence/webhook-evidence.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { writeMapping } from '../evidence/written-rest.ts'

/** Bulk events of the whole run, those of the written requests included where writing is allowed. */
export async function everyBulkEvent(bench: Bench): Promise<SeenEvent[]> {
  if (bench.writing !== null) {
    const hotel = await findHotel(bench, bench.writing)
    if (typeof hotel !== 'string') {
      await writeMapping(bench, hotel)
      await writeAnswers(bench, hotel)
    }
  }
  return eventsOfTasks(bench)
}
