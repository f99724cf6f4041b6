import type pg from 'pg'
import { alwaysAnswered, dataPointTitled } from './demo-answers.ts'
import { PartnerDatabaseError } from './demo-database-error.ts'
import { meterIdOf } from './readings.ts'

/**
 * @throws {PartnerDatabaseError} `partner_database_unexpected` if there is no hotel or one row is as young as `moment`.
 */
export async function assertUntouchedSince(client: pg.ClientBase, moment: Date): Promise<void> {
  const { rows } = await client.query<{ newest: string | null; younger: boolean | null }>(
    `select max(updated_at)::text as newest, max(updated_at) >= $1 as younger from (
       select max(updated_at) as updated_at from hotelier.hotel
       union all select max(updated_at) from hotelier.meter_reading
       union all select max(updated_at) from hotelier.sustainability_answer
     ) touched`,
    [moment],
  )
  const [found] = rows
  if (found?.newest != null && found.younger === false) return
  throw new PartnerDatabaseError(
    'partner_database_unexpected',
    `The newest change in the schema "hotelier" is of ${found?.newest ?? 'never'}, and must be older than ` +
      `${moment.toISOString()}. Make the partner database again, or choose a later moment.`,
  )
}

/** Gives a hotel another name, in the script of the old one. */
export async function rename(client: pg.ClientBase, hotel: number, moment: Date): Promise<void> {
  await changeRows(
    client,
    1,
    `update hotelier.hotel set name = name || ' & Spa', updated_at = $2 where hotel_id = $1`,
    [hotel, moment],
  )
}

/** Moves a hotel along its street: two house numbers on, and some 150 metres. */
export async function move(client: pg.ClientBase, hotel: number, street: string, moment: Date): Promise<void> {
  const further = street.replace(/\d+$/, (houseNumber) => String(Number(houseNumber) + 2))
  await changeRows(
    client,
    1,
    `update hotelier.hotel set street = $3, latitude = round((latitude + 0.0012)::numeric, 5),
       longitude = round((longitude - 0.0008)::numeric, 5), updated_at = $2
     where hotel_id = $1`,
    [hotel, moment, further === street ? `${street} 2` : further],
  )
}

/** Corrects what was read off two meters in one month: a little more electricity, a few more nights. */
export async function correctReadings(
  client: pg.ClientBase,
  hotel: number,
  month: number,
  moment: Date,
): Promise<void> {
  await changeRows(
    client,
    2,
    `update hotelier.meter_reading set value = round(value * 1.07) + 1, updated_at = $2
     where hotel_id = $1 and month = $3 and meter_id = any($4)`,
    [hotel, moment, month, [meterIdOf('Electricity'), meterIdOf('Occupied room nights')]],
  )
}

/** Reports another share of renewable electricity, by twenty points and within 0 to 100. */
export async function changeShare(client: pg.ClientBase, hotel: number, moment: Date): Promise<void> {
  await changeRows(
    client,
    1,
    `update hotelier.sustainability_answer
     set value = (value::numeric + case when value::numeric < 50 then 20 else -20 end)::text, updated_at = $2
     where hotel_id = $1 and data_point_id = $3`,
    [hotel, moment, dataPointTitled(alwaysAnswered.renewableShare).id],
  )
}

/** Replaces the value of one answer, whatever the value is. */
export async function answerWith(
  client: pg.ClientBase,
  hotel: number,
  dataPoint: string,
  value: string,
  moment: Date,
): Promise<void> {
  await changeRows(
    client,
    1,
    'update hotelier.sustainability_answer set value = $4, updated_at = $2 where hotel_id = $1 and data_point_id = $3',
    [hotel, moment, dataPointTitled(dataPoint).id, value],
  )
}

async function changeRows(
  client: pg.ClientBase,
  expected: number,
  statement: string,
  values: unknown[],
): Promise<void> {
  const { rowCount } = await client.query(statement, values)
  if (rowCount === expected) return
  throw new PartnerDatabaseError(
    'partner_database_unexpected',
    `Hotel ${String(values[0])} in the schema "hotelier" has ${rowCount ?? 0} rows to change where ${expected} were expected. ` +
      'Make the partner database again with the same seed and number of hotels.',
  )
}
