import fc from 'fast-check'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { otherGroup, otherIdentifierProperty } from '../../src/sandbox/catalogue/accounts.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const hotels = 8
const seed = 7

/** What a service holds that rows of the partner write, no matter whose profile wrote it. */
async function held(pool: pg.Pool): Promise<Record<string, unknown[]>> {
  const tables = {
    answers: `select company_id, data_point_id, period_type, year, month, value, unit_id from sandbox.answer`,
    omissions: `select company_id, question_id, period_type, year, month from sandbox.omission`,
    holders: `select company_id, standard_id, level, start_date::text, expiry_date::text from sandbox.standard_holder`,
    values: `select company_id, property_id, ordinal, value from sandbox.property_value`,
    inputs: `select company_id, year, month, inputs from sandbox.calculator where inputs <> '{}'`,
    identifiers: `select property_id, value, company_id from sandbox.identifier`,
  }
  const found: Record<string, unknown[]> = {}
  for (const [name, query] of Object.entries(tables)) {
    found[name] = (await pool.query(`select to_jsonb(held)::text as row from (${query}) held order by 1`)).rows
  }
  return found
}

/** Which destination each of seven nights is for; every one at least once. */
const plans = fc
  .array(fc.nat({ max: 2 }), { minLength: 7, maxLength: 7 })
  .filter((places) => new Set(places).size === 3 && places.every((place, at) => place !== places[at - 1]))

test('one ledger serves two services and two profiles, and each holds what the partner demands in the end', async () => {
  await using world = await startWorld({ hotels, seed })
  await using folder = await workingFolder()
  const staging = await world.startOtherService()
  const destinations: Record<string, string>[] = [
    {},
    { EXCHANGE_BASE_URL: staging.url },
    {
      EXCHANGE_BASE_URL: staging.url,
      EXCHANGE_API_KEY: 'other-key',
      NIGHTFERRY_EXCHANGE_CUSTOM_IDENTIFIER_ID: otherIdentifierProperty.id,
      NIGHTFERRY_EXCHANGE_GROUP_ID: otherGroup.id,
    },
  ]
  const call = (destination: number, ...args: string[]) =>
    nightferry(folder.path, [...args, '--config', demoConfig], { ...world.environment(), ...destinations[destination] })
  let inUse: number | null = null
  const night = async (destination: number) => {
    if (inUse !== null && inUse !== destination) {
      expect(await call(destination, 'run', 'nightly-sync')).toMatchObject({ code: 1 })
      expect(await call(destination, 'destination', 'other')).toMatchObject({ code: 0 })
    }
    inUse = destination
    const ended = await call(destination, 'run', 'nightly-sync')
    expect([0, 3], ended.stderr).toContain(ended.code)
  }
  const storySeed = Number(process.env.SWITCHING_SEED ?? '20261122')
  const [plan = []] = fc.sample(plans, { seed: storySeed, numRuns: 1 })
  for (const [at, destination] of plan.entries()) {
    await night(destination)
    // What the service would refuse says nothing here: it would hold what it took before.
    await world.partnerPool.query(
      `update hotelier.sustainability_answer set value = (value::numeric + 1)::text, updated_at = now()
       where hotel_id = $1 and value ~ '^[0-9]{5,}$'`,
      [1 + ((at * 3) % hotels)],
    )
    if (at === 2) {
      await world.partnerPool.query(
        `update hotelier.hotel set name = name || ' & Spa', updated_at = now() where hotel_id in (2, 5)`,
      )
    } else {
      await world.partnerPool.query(
        `update hotelier.meter_reading set value = value + $2, updated_at = now() where hotel_id = $1 and month = $2`,
        [1 + (at % hotels), at + 1],
      )
    }
  }
  for (const destination of [0, 1, 2]) await night(destination)

  // What a service holds that was only ever sent to by a ledger that knows no other.
  await using fresh = await startWorld({ hotels, seed })
  const { rows: there } = await world.partnerPool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'hotelier' order by 1`,
  )
  const environment = { ...fresh.environment(), PARTNER_DATABASE_URL: world.partnerUrl }
  expect(there.length).toBeGreaterThan(5)
  const alone = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], environment)
  expect([0, 3], alone.stderr).toContain(alone.code)
  const demanded = await held(fresh.sandboxPool)
  expect(demanded.answers?.length).toBeGreaterThan(50)
  expect(await held(world.sandboxPool)).toEqual(demanded)

  // The other profile owns none of the properties that the partner has values of; all else is at both.
  const both = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], {
    ...environment,
    DATABASE_URL: fresh.databaseUrl,
    ...destinations[2],
    EXCHANGE_BASE_URL: fresh.sandboxUrl,
  })
  expect(both.code).toBe(1)
  const other = (...args: string[]) =>
    nightferry(folder.path, [...args, '--config', demoConfig], {
      ...environment,
      ...destinations[2],
      EXCHANGE_BASE_URL: fresh.sandboxUrl,
    })
  expect(await other('destination', 'other')).toMatchObject({ code: 0 })
  expect([0, 3]).toContain((await other('run', 'nightly-sync')).code)
  expect(await held(staging.pool)).toEqual(await held(fresh.sandboxPool))
}, 600_000)
