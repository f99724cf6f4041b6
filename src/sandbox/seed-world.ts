import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { CopyValue } from '../db/copy-text.ts'
import { seedApplications } from './applications/seed-applications.ts'
import { catalogue } from './catalogue.ts'
import { copyRows } from './copy-rows.ts'
import { findSeeded } from './find-seeded.ts'
import { companyIdAt, hotelAt, isKnownToService } from './hotels.ts'
import { inTransaction } from './running-sandbox.ts'
import { nameKey } from './storable-text.ts'

/**
 * Makes the service know the hotels 1 to `hotels` of this seed, but for those that it does not know on purpose.
 * What an earlier start seeded stays, with everything that was sent since; only missing companies are added.
 *
 * The demo profile's group holds every company from the start, the other profile's group every tenth;
 * a mapping adds the matched company to the group of the profile that asked for it.
 * @throws {WorldMismatch} when the database was seeded with another seed, or holds the world of a file.
 */
export async function seedWorld(pool: pg.Pool, world: { seed: number; hotels: number }): Promise<void> {
  await inTransaction(pool, async (client) => {
    const seeded = await findSeeded(client, { seed: world.seed, digest: null })
    const have = seeded?.hotels ?? 0
    if (have >= world.hotels && seeded) return
    await copyCompanies(client, world.seed, have + 1, world.hotels)
    await joinGroups(client, have)
    await seedApplications(client, world.seed)
    await client.query(
      `insert into sandbox.world (seed, hotels, file_secret) values ($1, $2, $3)
       on conflict (only_row) do update set hotels = excluded.hotels`,
      [world.seed, world.hotels, randomBytes(32)],
    )
  })
  await pool.query('analyze sandbox.company, sandbox.group_company')
}

async function copyCompanies(client: pg.PoolClient, seed: number, first: number, last: number): Promise<void> {
  await copyRows(
    client,
    `sandbox.company
      (id, number, name, name_key, street, latitude, longitude, country_code, hotel_code, booking_id)`,
    companyRows(seed, first, last),
  )
}

function* companyRows(seed: number, first: number, last: number): Generator<CopyValue[]> {
  for (let number = first; number <= last; number += 1) if (isKnownToService(number)) yield companyRow(seed, number)
}

function companyRow(seed: number, number: number): CopyValue[] {
  const hotel = hotelAt(seed, number)
  return [
    companyIdAt(seed, number),
    number,
    hotel.name,
    nameKey(hotel.name),
    hotel.street,
    hotel.latitude,
    hotel.longitude,
    hotel.countryCode,
    hotel.hotelCode,
    hotel.bookingId,
  ]
}

async function joinGroups(client: pg.PoolClient, seededBefore: number): Promise<void> {
  await client.query(
    `insert into sandbox.group_company (group_id, company_id)
     select $1::uuid, id from sandbox.company where number > $3
     union all
     select $2::uuid, id from sandbox.company where number > $3 and number % 10 = 0`,
    [catalogue.groupId, catalogue.otherGroupId, seededBefore],
  )
}
