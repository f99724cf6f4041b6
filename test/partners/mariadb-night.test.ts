import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type MariadbPartner, openMariadbPartner } from './mariadb-partner.ts'

const seed = 7
const hotels = 20

/** The hotel group's tables of the demo with the types that MariaDB has for theirs. */
const tables: Record<string, string> = {
  hotel: `hotel_id int, code varchar(50), name text, street text, latitude double, longitude double,
    country_code varchar(10), airport_code varchar(10), hotel_code varchar(50), booking_id varchar(50), updated_at timestamp(6) null`,
  meter: 'meter_id smallint, name varchar(100), field_type_id uuid, updated_at timestamp(6) null',
  meter_reading:
    'hotel_id int, meter_id smallint, year smallint, month smallint, value double, updated_at timestamp(6) null',
  sustainability_answer: `hotel_id int, data_point_id uuid, framework_id uuid, period_type varchar(20), year smallint,
    month smallint, value text, value_type varchar(20), unit_id uuid, updated_at timestamp(6) null`,
  declined_question:
    'hotel_id int, question_id uuid, period_type varchar(20), year smallint, month smallint, updated_at timestamp(6) null',
  certificate:
    'hotel_id int, standard_id uuid, level varchar(50), start_date date, expiry_date date, updated_at timestamp(6) null',
  attribute: 'attribute_id int, name varchar(50), property_id uuid, updated_at timestamp(6) null',
  hotel_attribute: 'hotel_id int, attribute_id int, value text, updated_at timestamp(6) null',
  calculation_setting:
    'hotel_id int, automatic_yearly_calculation tinyint(1), automatic_publishing tinyint(1), updated_at timestamp(6) null',
}

/** Everything that the hotel group's PostgreSQL holds, again. */
async function copy(from: pg.Pool, to: MariadbPartner): Promise<void> {
  await to.root.query(`set time_zone = '+00:00'`)
  for (const [name, columns] of Object.entries(tables)) {
    await to.run(`create or replace table ${name} (${columns})`)
    const names = columns.split(/,\s*/).map((column) => column.trim().split(' ')[0] ?? '')
    const texts = names.map((column) => {
      if (column === 'updated_at') return `to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`
      return column.startsWith('automatic_') ? `${column}::int::text` : `${column}::text`
    })
    const { rows } = await from.query<(string | null)[]>({
      text: `select ${texts.join(', ')} from hotelier.${name}`,
      rowMode: 'array',
    })
    await to.root.query(`insert into ${name} values ?`, [rows])
  }
}

/** The demo's configuration, its queries in the words of MariaDB. */
async function configFor(folder: string): Promise<string> {
  const text = (await readFile(demoConfig, 'utf8'))
    .replaceAll('hotelier.', '')
    .replaceAll('::text', '')
    .replaceAll(/to_char\(([\w.]+), 'YYYY-MM-DD'\)/g, '$1')
    .replaceAll(/\bs\.(automatic_\w+)/g, `if(s.$1, 'true', 'false') as $1`)
  const file = join(folder, 'mariadb.yaml')
  await writeFile(file, text)
  return file
}

async function rowsOf(pool: pg.Pool): Promise<object[]> {
  const { rows } = await pool.query<object>(
    `select stream, row_key, partner_id, content, encode(desired_hash, 'hex') as desired, encode(accepted_hash, 'hex') as accepted,
            invalid_reason, outcome, outcome_code, outcome_reason
     from ledger order by stream collate "C", row_key collate "C"`,
  )
  return rows
}

test('two nights from MariaDB leave what the same data leave from PostgreSQL, row for row', async () => {
  await using postgres = await startWorld({ hotels, seed })
  await using other = await startWorld({ hotels, seed })
  await using folder = await workingFolder()
  const mariadb = await openMariadbPartner('do 0')
  try {
    const file = await configFor(folder.path)
    const night = async (config: string, environment: Record<string, string>) => {
      const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--json', '--config', config], environment)
      expect(ended.stderr).not.toContain('nightferry:')
      return JSON.parse(ended.stdout) as RunReport
    }
    const both = async () => {
      await copy(postgres.partnerPool, mariadb)
      const reports = [
        await night(demoConfig, postgres.environment()),
        await night(file, { ...other.environment(), PARTNER_DATABASE_URL: mariadb.url }),
      ]
      const [here, there] = [await rowsOf(postgres.pool), await rowsOf(other.pool)]
      expect(there).toEqual(here)
      expect(await finalTables(other.pool)).toEqual(await finalTables(postgres.pool))
      return { reports, rows: here.length }
    }
    const first = await both()
    expect(first.rows).toBeGreaterThan(300)
    expect(first.reports.map(({ verdict }) => verdict)).toEqual(['succeeded', 'succeeded'])

    await applySecondNight(postgres.partnerPool, { hotels, seed, asOf: new Date() })
    const second = await both()
    const counts = (report: RunReport | undefined) =>
      report?.streams.map(({ stream, pending, sent, confirmed, rejected, invalid }) => ({
        stream,
        pending,
        sent,
        confirmed,
        rejected,
        invalid,
      }))
    expect(counts(second.reports[1])).toEqual(counts(second.reports[0]))
    expect(second.reports[1]?.streams.some(({ sent }) => sent > 0)).toBe(true)
  } finally {
    await mariadb.close()
  }
}, 300_000)
