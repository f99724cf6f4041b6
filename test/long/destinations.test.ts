import type pg from 'pg'
import { expect, test } from 'vitest'
import {
  brandProperty,
  otherGroup,
  otherIdentifierProperty,
  roomsProperty,
} from '../../src/sandbox/catalogue/accounts.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { alteringProxy } from '../helpers/altering-proxy.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

type Call = (...args: readonly string[]) => ReturnType<typeof nightferry>

/** Calls a verb against a world, with variables that say otherwise than it does. */
function caller(world: World, folder: string, variables: Record<string, string> = {}): Call {
  return (...args) => {
    const [verb = '', ...rest] = args
    const all = [verb, ...rest, '--config', demoConfig]
    return nightferry(folder, all, { ...world.environment(), ...variables })
  }
}

/** Requests that would have changed something at a service. */
async function upserts(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from sandbox.request_log
     where phase = 'received' and method = 'POST' and (path like '%/upsert' or path like '%/company-mappings')`,
  )
  return rows[0]?.count ?? 0
}

async function standing(world: World): Promise<{ accepted: number; rows: number; mapped: number; values: number }> {
  const { rows } = await world.pool.query(
    `select count(*) filter (where not pending)::integer as accepted, count(*)::integer as rows,
            (select count(*)::integer from mapping) as mapped, (select count(*)::integer from calculator_values) as values
     from ledger where gone_at is null`,
  )
  return rows[0]
}

test('a ledger that is pointed at another service sends it nothing until a person says what it is', async () => {
  await using world = await startWorld({ hotels: 8 })
  await using folder = await workingFolder()
  expect(await caller(world, folder.path)('run', 'nightly-sync')).toMatchObject({ code: 0 })
  const before = await standing(world)
  expect(before.accepted).toBe(before.rows)
  const staging = await world.startOtherService()
  const there = caller(world, folder.path, { EXCHANGE_BASE_URL: staging.url })

  const stopped = await there('run', 'nightly-sync')
  expect(stopped.code).toBe(1)
  expect(stopped.stdout + stopped.stderr).toContain('destination_changed')
  expect(stopped.stdout + stopped.stderr).toMatch(/nightferry destination same.*nightferry destination other/s)
  expect(await upserts(staging.pool)).toBe(0)
  expect(await standing(world)).toEqual(before)

  expect(await there('destination', 'other', '--name', 'staging')).toMatchObject({ code: 0 })
  expect(await standing(world)).toMatchObject({ accepted: 0, rows: before.rows, mapped: 0, values: 0 })
  expect(await there('run', 'nightly-sync')).toMatchObject({ code: 0 })
  expect(await standing(world)).toEqual(before)
  expect(await upserts(staging.pool)).toBeGreaterThan(3)

  const sent = await upserts(world.sandboxPool)
  const home = caller(world, folder.path)
  expect(await home('destination', 'other')).toMatchObject({ code: 0 })
  expect(await standing(world)).toEqual(before)
  expect(await home('run', 'nightly-sync')).toMatchObject({ code: 0 })
  expect(await upserts(world.sandboxPool)).toBe(sent)
  const { rows: kept } = await world.pool.query(
    'select count(*)::integer as values from nightferry_destination_2.calculator_values',
  )
  expect(kept).toEqual([{ values: before.values }])
}, 240_000)

test('a service that moved to another address keeps its acceptances once a person says that it is the same', async () => {
  await using world = await startWorld({ hotels: 5 })
  await using folder = await workingFolder()
  const call = caller(world, folder.path)
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
  const before = await standing(world)
  const sent = await upserts(world.sandboxPool)
  await world.moveService()

  const stopped = await call('run', 'nightly-sync')
  expect(stopped).toMatchObject({ code: 1 })
  expect(stopped.stdout + stopped.stderr).toContain('acts as the same profile (certain')
  const runs = await call('runs')
  expect(runs.stdout).toMatch(/destination_changed: The destination is not the one .{10,200}…$/m)
  expect((await call('destination')).stdout).toMatch(/^The destination is not the one .+ put back to use\.$/m)
  const same = await call('destination', 'same')
  expect(same).toMatchObject({ code: 0 })
  expect(same.stdout).toMatch(
    /^(\S+), at http:\/\/\1, is what was called \S+\. Everything that was accepted stays accepted\.$/m,
  )
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
  expect(await standing(world)).toEqual(before)
  expect(await upserts(world.sandboxPool)).toBe(sent)
}, 240_000)

test('another key of the same profile changes nothing', async () => {
  await using world = await startWorld({ hotels: 5 })
  await using folder = await workingFolder()
  expect(await caller(world, folder.path)('run', 'nightly-sync')).toMatchObject({ code: 0 })
  const before = await standing(world)
  const sent = await upserts(world.sandboxPool)
  const rotated = caller(world, folder.path, { EXCHANGE_API_KEY: 'sibling-key' })
  expect(await rotated('run', 'nightly-sync')).toMatchObject({ code: 0 })
  expect(await standing(world)).toEqual(before)
  expect(await upserts(world.sandboxPool)).toBe(sent)
}, 240_000)

test('a key of another profile stops the run before anything is sent', async () => {
  await using world = await startWorld({ hotels: 5 })
  await using folder = await workingFolder()
  expect(await caller(world, folder.path)('run', 'nightly-sync')).toMatchObject({ code: 0 })
  const sent = await upserts(world.sandboxPool)
  const other = caller(world, folder.path, {
    EXCHANGE_API_KEY: 'other-key',
    NIGHTFERRY_EXCHANGE_CUSTOM_IDENTIFIER_ID: otherIdentifierProperty.id,
    NIGHTFERRY_EXCHANGE_GROUP_ID: otherGroup.id,
  })
  const stopped = await other('run', 'nightly-sync')
  expect(stopped).toMatchObject({ code: 1 })
  expect(stopped.stdout + stopped.stderr).toContain('acts as another profile')
  expect(await upserts(world.sandboxPool)).toBe(sent)
}, 240_000)

test('another identifier property stops the run before anything is sent', async () => {
  await using world = await startWorld({ hotels: 5 })
  await using folder = await workingFolder()
  // A second property of the profile by which it could name its companies.
  await using proxy = await alteringProxy(world.sandboxUrl, ({ path }, answer) => {
    if (!path.endsWith('/custom-properties')) return answer
    const properties = answer.json as { id: string }[]
    return { ...answer, json: properties.map((one) => ({ ...one, isIdentifier: one.id !== roomsProperty.id })) }
  })
  const variables = { EXCHANGE_BASE_URL: proxy.url }
  expect(await caller(world, folder.path, variables)('run', 'nightly-sync')).toMatchObject({ code: 0 })
  const before = await standing(world)
  const sent = await upserts(world.sandboxPool)
  const other = caller(world, folder.path, {
    ...variables,
    NIGHTFERRY_EXCHANGE_CUSTOM_IDENTIFIER_ID: brandProperty.id,
  })
  const stopped = await other('run', 'nightly-sync')
  expect(stopped, stopped.stderr).toMatchObject({ code: 1 })
  expect(stopped.stdout + stopped.stderr).toMatch(/destination_changed.*exchange\.customIdentifierId was /s)
  expect(await upserts(world.sandboxPool)).toBe(sent)
  expect(await standing(world)).toEqual(before)
}, 240_000)
