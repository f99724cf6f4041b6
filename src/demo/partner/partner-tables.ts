import type { CopyValue } from '../../db/copy-text.ts'
import { answerRows, declinedRows } from './demo-answers.ts'
import { attributeRows, certificateRows, hotelAttributeRows, hotelRows, settingRows } from './hotel-rows.ts'
import { meterRows, readingRows } from './readings.ts'
import type { World } from './world.ts'

/** A table whose rows do not depend on the hotels, and where COPY puts them. */
export const sharedTables: readonly { target: string; rows: (world: World) => CopyValue[][] }[] = [
  { target: 'hotelier.meter (meter_id, name, field_type_id, updated_at)', rows: meterRows },
  { target: 'hotelier.attribute (attribute_id, name, property_id, updated_at)', rows: attributeRows },
]

/** The tables of the hotels, those that others refer to first. */
export const hotelTables: readonly { target: string; rows: (world: World, hotel: number) => CopyValue[][] }[] = [
  {
    target: `hotelier.hotel (hotel_id, code, name, street, latitude, longitude, country_code, airport_code, hotel_code,
      booking_id, updated_at)`,
    rows: hotelRows,
  },
  { target: 'hotelier.meter_reading (hotel_id, meter_id, year, month, value, updated_at)', rows: readingRows },
  {
    target: `hotelier.sustainability_answer (hotel_id, data_point_id, framework_id, period_type, year, month, value,
      value_type, unit_id, updated_at)`,
    rows: answerRows,
  },
  {
    target: 'hotelier.declined_question (hotel_id, question_id, period_type, year, month, updated_at)',
    rows: declinedRows,
  },
  {
    target: 'hotelier.certificate (hotel_id, standard_id, level, start_date, expiry_date, updated_at)',
    rows: certificateRows,
  },
  { target: 'hotelier.hotel_attribute (hotel_id, attribute_id, value, updated_at)', rows: hotelAttributeRows },
  {
    target: `hotelier.calculation_setting (hotel_id, automatic_yearly_calculation, automatic_publishing, updated_at)`,
    rows: settingRows,
  },
]
