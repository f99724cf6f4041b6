import type pg from 'pg'
import { copyRows } from '../../sandbox/copy-rows.ts'
import { hotelAt, isKnownToService } from '../../sandbox/hotels.ts'
import { answerWith, assertUntouchedSince, changeShare, correctReadings, move, rename } from './day-changes.ts'
import { alwaysAnswered } from './demo-answers.ts'
import { draw, drawInteger } from './draw.ts'
import { inTransaction } from './in-transaction.ts'
import { hotelTables } from './partner-tables.ts'
import { worldAt } from './world.ts'

/**
 * What happened between the nights, as partner ids. With fewer than fourteen hotels, one can stand in several lists.
 */
export type SecondNight = {
  renamed: string[]
  /** Another house number, and coordinates some 150 metres away. */
  moved: string[]
  /** The electricity and the room nights of one month. */
  readingsCorrected: string[]
  /** The share of renewable electricity. */
  answersChanged: string[]
  added: string[]
  /** Far more employees than the service believes: sent, and rejected with its reason. */
  rejectedByService: string[]
  /** Words where a number belongs: kept back before it is sent. */
  invalidHere: string[]
}

/**
 * The number of the hotel that the second night adds: the first after the others that the service knows.
 * The sandbox must know hotels up to this one.
 */
export function addedHotelNumber(hotels: number): number {
  return isKnownToService(hotels + 1) ? hotels + 1 : hotels + 2
}

/**
 * Changes the partner database as a day's work would, in one transaction, all of it touched at `asOf`.
 *
 * @param options as the database was made with; `asOf` no earlier than then and no later than the database's clock, or
 *   changes that a person makes by hand would lie before the watermark.
 * @throws {PartnerDatabaseError} `partner_database_unexpected` if the rows to change are not there, or were touched at
 *   `asOf` or later, as after a second night; nothing is changed then.
 */
export async function applySecondNight(
  pool: pg.Pool,
  { hotels, seed, asOf }: { hotels: number; seed: number; asOf: Date },
): Promise<SecondNight> {
  const role = rolesOf(hotels, seed)
  const roles = {
    renamed: role(3),
    moved: role(2),
    readingsCorrected: role(4),
    answersChanged: role(3),
    rejectedByService: role(1),
    invalidHere: role(1),
  }
  const added = addedHotelNumber(hotels)
  await inTransaction(pool, async (client) => {
    await assertUntouchedSince(client, asOf)
    for (const hotel of roles.renamed) await rename(client, hotel, asOf)
    for (const hotel of roles.moved) await move(client, hotel, hotelAt(seed, hotel).street, asOf)
    for (const hotel of roles.readingsCorrected) {
      await correctReadings(client, hotel, drawInteger(1, 12, seed, 'month corrected', hotel), asOf)
    }
    for (const hotel of roles.answersChanged) await changeShare(client, hotel, asOf)
    for (const hotel of roles.rejectedByService)
      await answerWith(client, hotel, alwaysAnswered.employees, '2000000', asOf)
    for (const hotel of roles.invalidHere) {
      await answerWith(client, hotel, alwaysAnswered.womenInManagement, 'about half', asOf)
    }
    for (const { target, rows } of hotelTables) await copyRows(client, target, rows(worldAt(asOf, seed), added))
  })
  const ids = (numbers: number[]) => numbers.map((number) => hotelAt(seed, number).partnerId)
  return {
    renamed: ids(roles.renamed),
    moved: ids(roles.moved),
    readingsCorrected: ids(roles.readingsCorrected),
    answersChanged: ids(roles.answersChanged),
    added: ids([added]),
    rejectedByService: ids(roles.rejectedByService),
    invalidHere: ids(roles.invalidHere),
  }
}

/** Deals hotels that the service knows, so that every change can be seen there; no hotel twice until all had a turn. */
function rolesOf(hotels: number, seed: number): (count: number) => number[] {
  const dealt: number[] = []
  const known = hotels - Math.floor(hotels / 50)
  return (count) => {
    const numbers: number[] = []
    while (numbers.length < Math.min(count, known)) {
      if (dealt.length === known) dealt.length = 0
      let number = 1 + Math.floor(draw(seed, 'dealt', dealt.length, count) * hotels)
      while (!isKnownToService(number) || dealt.includes(number) || numbers.includes(number)) {
        number = (number % hotels) + 1
      }
      dealt.push(number)
      numbers.push(number)
    }
    return numbers.sort((a, b) => a - b)
  }
}
