import { expect, test } from 'vitest'
import { addedHotelNumber } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

async function night(world: World, folder: string): Promise<RunReport> {
  const args = ['run', 'nightly-sync', '--json', '--config', demoConfig]
  const ended = await nightferry(folder, args, world.environment())
  expect(ended.stderr).not.toContain('nightferry:')
  return JSON.parse(ended.stdout) as RunReport
}

const idOf = (hotel: number) => `H-${String(hotel).padStart(4, '0')}`

/** Gives a hotel of the partner the code of another hotel of the service, so that it is matched with that one. */
async function giveCodeOf(world: World, hotel: number, other: number): Promise<void> {
  const { rows } = await world.sandboxPool.query<{ hotel_code: string }>(
    'select hotel_code from sandbox.company where number = $1',
    [other],
  )
  await world.partnerPool.query('update hotelier.hotel set hotel_code = $2, updated_at = now() where hotel_id = $1', [
    hotel,
    rows[0]?.hotel_code,
  ])
}

async function companyOf(world: World, partnerId: string): Promise<string> {
  const { rows } = await world.pool.query<{ company_id: string }>(
    'select company_id from mapping where partner_id = $1',
    [partnerId],
  )
  return rows[0]?.company_id ?? ''
}

test('a hotel that becomes another company is sent again whole in the same run, and drift lists what the old one holds', async () => {
  const hotels = 6
  await using world = await startWorld({ hotels })
  await using folder = await workingFolder()
  await night(world, folder.path)
  const before = await companyOf(world, idOf(3))
  const { rows: accepted } = await world.pool.query<{ rows: number }>(
    `select count(*)::integer as rows from ledger where partner_id = $1 and stream <> 'properties' and not pending`,
    [idOf(3)],
  )
  expect(accepted[0]?.rows).toBeGreaterThan(10)

  await giveCodeOf(world, 3, addedHotelNumber(hotels))
  const report = await night(world, folder.path)
  const after = await companyOf(world, idOf(3))
  expect(after).not.toBe(before)
  expect(report.verdict).toBe('succeeded')
  const { rows: pending } = await world.pool.query('select row_key from ledger where pending and gone_at is null')
  expect(pending).toEqual([])
  const { rows: stored } = await world.sandboxPool.query<{ answers: number }>(
    'select count(*)::integer as answers from sandbox.answer where company_id = $1',
    [after],
  )
  const { rows: wanted } = await world.pool.query<{ answers: number }>(
    `select count(*)::integer as answers from source_row where partner_id = $1 and stream = 'framework_answers'`,
    [idOf(3)],
  )
  expect(stored).toEqual(wanted)
  const { rows: drift } = await world.pool.query(
    'select count(*)::integer as rows, min(why) as why, min(company_id::text) as company_id from drift',
  )
  expect(drift).toEqual([{ rows: accepted[0]?.rows, why: 'remapped', company_id: before }])
  const { rows: change } = await world.pool.query(
    'select partner_id, rows, company_before, company_id from mapping_changes',
  )
  expect(change).toEqual([{ partner_id: idOf(3), rows: accepted[0]?.rows, company_before: before, company_id: after }])
  expect(report.notices.join('\n')).toContain(`${idOf(3)} is company ${after} now`)
}, 240_000)

test('of two hotels that turn out to be one company, none overwrites what the other had accepted', async () => {
  await using world = await startWorld({ hotels: 6 })
  await using folder = await workingFolder()
  await night(world, folder.path)
  const held = async () =>
    (
      await world.sandboxPool.query(
        'select data_point_id, period_type, year, month, value, unit_id from sandbox.answer where company_id = $1',
        [await companyOf(world, idOf(5))],
      )
    ).rows
  const before = await held()
  await giveCodeOf(world, 3, 5)
  const report = await night(world, folder.path)
  expect(await companyOf(world, idOf(3))).toBe(await companyOf(world, idOf(5)))
  // What the other says of other things is added.
  expect(before.length).toBeGreaterThan(10)
  expect(await held()).toEqual(expect.arrayContaining(before))
  expect(report.verdict).toBe('partial')
  const { rows: invalid } = await world.pool.query<{ partner_id: string }>(
    `select distinct partner_id from ledger where invalid_reason like '%confirmed for the same company%'`,
  )
  expect(invalid).toEqual([{ partner_id: idOf(3) }])
  expect([...report.remarks, ...report.notices].join('\n')).toContain(`${idOf(3)}`)
}, 240_000)

test('on a first night, hotels that are one company are compared before any of their rows is sent', async () => {
  await using world = await startWorld({ hotels: 6 })
  await using folder = await workingFolder()
  await giveCodeOf(world, 3, 5)
  const report = await night(world, folder.path)
  expect(report.verdict).toBe('partial')
  const { rows } = await world.pool.query<{ partner_id: string }>(
    `select distinct partner_id from ledger
     where invalid_reason like '%confirmed for the same company%' order by partner_id`,
  )
  expect(rows).toEqual([{ partner_id: idOf(3) }, { partner_id: idOf(5) }])
}, 240_000)
