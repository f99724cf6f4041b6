import type pg from 'pg'
import type { CopyValue } from '../../db/copy-text.ts'
import { copyRows } from '../../sandbox/copy-rows.ts'
import { PartnerDatabaseError } from './demo-database-error.ts'
import { partnerConstraints, partnerTables } from './hotelier-tables.ts'
import { inTransaction } from './in-transaction.ts'
import { hotelTables, sharedTables } from './partner-tables.ts'
import { type World, worldBefore } from './world.ts'

type PartnerDatabaseOptions = {
  /** How many hotels: the sandbox's hotels 1 to this number of the same seed. */
  hotels: number
  seed: number
  /** The day the database is made for. Every row was last touched in the thirty days that end an hour before. */
  asOf: Date
  /** Told now and then how far it is: `done` of `total`, each hotel counting once per table. */
  onProgress?: (done: number, total: number) => void
}

const progressEvery = 500

/** Whether this database holds a hotel group's schema already. */
export async function partnerDatabaseExists(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(`select to_regclass('hotelier.hotel') is not null as found`)
  return rows[0]?.found === true
}

/**
 * Makes a hotel group's own database in the schema `hotelier`, all in one transaction: the same options give the same
 * rows. Rows are made while they are copied, so memory does not grow with the number of hotels.
 *
 * @throws {PartnerDatabaseError} `partner_database_exists` if the schema is there already; nothing is changed then.
 */
export async function createPartnerDatabase(pool: pg.Pool, options: PartnerDatabaseOptions): Promise<void> {
  const { hotels, seed, asOf, onProgress = () => {} } = options
  if (!Number.isSafeInteger(hotels) || hotels < 1) throw new RangeError(`hotels must be 1 or more, not ${hotels}`)
  if (await partnerDatabaseExists(pool)) {
    throw new PartnerDatabaseError(
      'partner_database_exists',
      'The partner database has a schema "hotelier" already. Use it as it is, or drop the schema and start again.',
    )
  }
  const world = worldBefore(asOf, seed)
  await inTransaction(pool, async (client) => {
    await client.query(partnerTables)
    for (const { target, rows } of sharedTables) await copyRows(client, target, rows(world))
    const total = hotelTables.length * hotels
    for (const [index, { target, rows }] of hotelTables.entries()) {
      const report = (hotel: number) => onProgress(index * hotels + hotel, total)
      await copyRows(client, target, rowsOfAll(world, hotels, rows, report))
    }
    await client.query(partnerConstraints)
  })
}

function* rowsOfAll(
  world: World,
  hotels: number,
  rows: (world: World, hotel: number) => CopyValue[][],
  report: (hotel: number) => void,
): Generator<CopyValue[]> {
  for (let hotel = 1; hotel <= hotels; hotel++) {
    yield* rows(world, hotel)
    if (hotel % progressEvery === 0 || hotel === hotels) report(hotel)
  }
}
