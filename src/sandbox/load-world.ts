import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { type CopyValue, storableJson } from '../db/copy-text.ts'
import type { WorldSource } from '../world/world-file.ts'
import { type WorldCompany, WorldFileError } from '../world/world-form.ts'
import { copyRows } from './copy-rows.ts'
import { findSeeded } from './find-seeded.ts'
import { inTransaction } from './running-sandbox.ts'
import { nameKey, storable } from './storable-text.ts'

/** Companies that are in memory at once. */
const companiesAtOnce = 500

type Numbered = WorldCompany & { number: number }

/**
 * Makes the service know the companies of a world file, all of them or none. A database that holds this world already
 * keeps it, with everything that was sent since. There are no certification applications in such a world.
 * @throws {WorldMismatch} when the database holds another world.
 * @throws {WorldFileError} `world_file_invalid` when a line is wrong, or two companies share an id.
 */
export async function loadWorld(pool: pg.Pool, { seed, source }: { seed: number; source: WorldSource }): Promise<void> {
  const loaded = await inTransaction(pool, async (client) => {
    if (await findSeeded(client, { seed, digest: source.digest })) return false
    const identifiers = source.head.customProperties.filter(({ isIdentifier }) => isIdentifier).map(({ id }) => id)
    let number = 0
    let batch: Numbered[] = []
    const flush = async () => {
      await storeCompanies(client, new Set(identifiers), batch)
      batch = []
    }
    for await (const company of source.companies()) {
      number += 1
      batch.push({ ...company, number })
      if (batch.length === companiesAtOnce) await flush()
    }
    await flush()
    await client.query('insert into sandbox.world (seed, hotels, file_secret, file_digest) values ($1, $2, $3, $4)', [
      seed,
      number,
      randomBytes(32),
      source.digest,
    ])
    return true
  })
  if (loaded) await pool.query('analyze')
}

/** Writes table by table: one COPY at a time can run on a connection. */
async function storeCompanies(client: pg.PoolClient, identifiers: ReadonlySet<string>, companies: readonly Numbered[]) {
  for (const [target, rowsOf] of Object.entries(tables(identifiers))) {
    const rows = companies.flatMap((company) => rowsOf(company))
    if (rows.length === 0) continue
    try {
      await copyRows(client, target, rows)
    } catch (error) {
      throw isRepeated(error) ? repeated(error, companies) : error
    }
  }
}

function tables(identifiers: ReadonlySet<string>): Record<string, (company: Numbered) => CopyValue[][]> {
  const values = (company: Numbered, identifying: boolean) =>
    Object.entries(company.properties).filter(([id]) => identifiers.has(id) === identifying)
  return {
    'sandbox.company (id, number, name, name_key, street, latitude, longitude, country_code, hotel_code, booking_id)': (
      company,
    ) => [
      [
        company.id,
        company.number,
        storable(company.name),
        nameKey(storable(company.name)),
        storableDetail(company.street),
        company.latitude,
        company.longitude,
        storableDetail(company.countryCode),
        storableDetail(company.hotelCode),
        storableDetail(company.bookingId),
      ],
    ],
    'sandbox.group_company (group_id, company_id)': ({ id, groups }) =>
      [...new Set(groups)].map((group) => [group, id]),
    'sandbox.identifier (property_id, value, company_id)': (company) =>
      values(company, true).flatMap(([property, all]) =>
        [...new Set(all)].map((value) => [property, storable(value), company.id]),
      ),
    'sandbox.property_value (property_id, company_id, ordinal, value)': (company) =>
      values(company, false).flatMap(([property, all]) =>
        all.map((value, ordinal) => [property, company.id, ordinal, storable(value)]),
      ),
    'sandbox.company_setting (company_id, automatic_yearly_calculation, automatic_publishing)': (company) =>
      company.automaticYearlyCalculation || company.automaticPublishing
        ? [[company.id, company.automaticYearlyCalculation, company.automaticPublishing]]
        : [],
    'sandbox.calculator (id, company_id, type_id, year, month, inputs, summed, outputs)': (company) =>
      company.calculators.map(({ id, typeId, year, month, inputs, outputs }) => [
        ...[id, company.id, typeId, year, month],
        ...[storableJson(inputs), '{}', storableJson(outputs)],
      ]),
    'sandbox.framework_assignment (company_id, framework_id, period_type, year, month)': (company) =>
      company.periods.flatMap(({ frameworkIds, periodType, year, month }) =>
        frameworkIds.map((framework) => [company.id, framework, periodType, year, month]),
      ),
    'sandbox.answer (company_id, data_point_id, period_type, year, month, value, unit_id)': (company) =>
      company.periods.flatMap(({ answers, periodType, year, month }) =>
        answers.map(({ dataPointId, value, unitId }) => [
          ...[company.id, dataPointId, periodType, year, month],
          ...[storableJson(value), unitId],
        ]),
      ),
    'sandbox.omission (company_id, question_id, period_type, year, month)': (company) =>
      company.periods.flatMap(({ omissions, periodType, year, month }) =>
        omissions.map((question) => [company.id, question, periodType, year, month]),
      ),
    'sandbox.standard_holder (company_id, standard_id, level, start_date, expiry_date)': (company) =>
      company.standards.map(({ standardId, level, startDate, expiryDate }) => [
        ...[company.id, standardId, storableDetail(level), startDate, expiryDate],
      ]),
  }
}

function storableDetail(text: string | null): string | null {
  return text === null ? null : storable(text)
}

function isRepeated(error: unknown): error is Error & { detail?: string } {
  return (error as { code?: string }).code === '23505'
}

function repeated(error: Error & { detail?: string }, companies: readonly Numbered[]): WorldFileError {
  const between = `lines ${(companies[0]?.number ?? 0) + 1} to ${(companies.at(-1)?.number ?? 0) + 1}`
  const message = `The world file says something twice, in ${between} or before: ${error.detail ?? error.message} Remove one of the two.`
  return new WorldFileError('world_file_invalid', message, { cause: error })
}
